// The kernels of one instruction set, behind function pointers.
//
// Each kernels_*.cc is compiled for one instruction set and fills that set's
// table from its Simd struct, whose operations mean the same in all of them
// (kernels_avx512.cc says what):
//
//   constexpr KernelTable kAvx2Kernels = KernelTableOf<SimdAvx2>();
#ifndef SOFTLOOKUP_ATTENTION_KERNELS_KERNEL_TABLE_H_
#define SOFTLOOKUP_ATTENTION_KERNELS_KERNEL_TABLE_H_

#include <cstdint>

#include "attention/kernels/array_function.h"
#include "attention/kernels/array_kernels.h"
#include "attention/kernels/backward_kernel.h"
#include "attention/kernels/fma_peak.h"
#include "attention/kernels/forward_kernel.h"
#include "attention/kernels/gemm_kernel.h"

namespace softlookup::kernels {

struct KernelTable {
  // forward_kernel.h: one tile of queries of one head.
  void (*forward_tile)(const HeadProblem& head, const ForwardTarget& target,
                       int64_t first_query, ForwardScratch& scratch);
  // backward_kernel.h: keys [begin, end) of one key head, for all its query
  // heads.
  void (*backward_keys)(const BackwardGroup& group, int64_t begin, int64_t end,
                        BackwardScratch& scratch);
  // gemm_kernel.h: one block of a matrix product.
  void (*gemm)(const GemmBlock& block, GemmScratch& scratch);
  // array_kernels.h.
  void (*map)(ArrayFunction function, const float* x, float* y, int64_t n);
  void (*add)(const float* x, float* y, int64_t n);
  void (*scale)(float factor, float* y, int64_t n);
  float (*sum)(const float* x, int64_t n);
  float (*sum_of_squares)(const float* x, int64_t n);
  float (*maximum)(const float* x, int64_t n);
  // fma_peak.h; a round is kPeakChains * lanes multiply-adds.
  float (*fma_chains)(int64_t rounds);
  int64_t lanes;
};

extern const KernelTable kPortableKernels;
extern const KernelTable kAvx2Kernels;
extern const KernelTable kAvx512Kernels;

template <typename Simd>
struct Entry {
  static void ForwardTile(const HeadProblem& head, const ForwardTarget& target,
                          int64_t first_query, ForwardScratch& scratch) {
    ForwardKernel<Simd>(head, target, scratch).Run(first_query);
  }
  static void BackwardKeys(const BackwardGroup& group, int64_t begin,
                           int64_t end, BackwardScratch& scratch) {
    BackwardKernel<Simd>(scratch).Run(group, begin, end);
  }
  static void Gemm(const GemmBlock& block, GemmScratch& scratch) {
    GemmKernel<Simd>(block, scratch).Run();
  }
};

template <typename Simd>
constexpr KernelTable KernelTableOf() {
  return {
      .forward_tile = Entry<Simd>::ForwardTile,
      .backward_keys = Entry<Simd>::BackwardKeys,
      .gemm = Entry<Simd>::Gemm,
      .map = ArrayKernels<Simd>::Map,
      .add = ArrayKernels<Simd>::Add,
      .scale = ArrayKernels<Simd>::Scale,
      .sum = ArrayKernels<Simd>::Sum,
      .sum_of_squares = ArrayKernels<Simd>::SumOfSquares,
      .maximum = ArrayKernels<Simd>::Maximum,
      .fma_chains = FmaChains<Simd>,
      .lanes = Simd::kLanes,
  };
}

}  // namespace softlookup::kernels

#endif  // SOFTLOOKUP_ATTENTION_KERNELS_KERNEL_TABLE_H_
