// The table of kernel_table.h for one instruction set, named by its simd_*.h
// struct: included by the one translation unit that is compiled for it.
#ifndef SOFTLOOKUP_ATTENTION_KERNELS_KERNEL_TABLE_OF_H_
#define SOFTLOOKUP_ATTENTION_KERNELS_KERNEL_TABLE_OF_H_

#include <cstdint>

#include "attention/kernels/array_kernels.h"
#include "attention/kernels/backward_kernel.h"
#include "attention/kernels/fma_peak.h"
#include "attention/kernels/forward_kernel.h"
#include "attention/kernels/gemm_kernel.h"
#include "attention/kernels/kernel_table.h"

namespace softlookup::kernels {

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

#endif  // SOFTLOOKUP_ATTENTION_KERNELS_KERNEL_TABLE_OF_H_
