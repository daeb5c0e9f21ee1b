// The kernels of one instruction set, behind function pointers.
#ifndef SOFTLOOKUP_ATTENTION_KERNELS_KERNEL_TABLE_H_
#define SOFTLOOKUP_ATTENTION_KERNELS_KERNEL_TABLE_H_

#include <cstdint>

#include "attention/kernels/array_function.h"

namespace softlookup::kernels {

struct HeadProblem;
struct ForwardTarget;
struct ForwardScratch;
struct BackwardGroup;
struct BackwardScratch;
struct GemmBlock;
struct GemmScratch;

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

}  // namespace softlookup::kernels

#endif  // SOFTLOOKUP_ATTENTION_KERNELS_KERNEL_TABLE_H_
