// The kernels for one instruction set; see kernel_table.h.
#include "attention/kernels/array_kernels.h"
#include "attention/kernels/backward_kernel.h"
#include "attention/kernels/fma_peak.h"
#include "attention/kernels/forward_kernel.h"
#include "attention/kernels/gemm_kernel.h"
#include "attention/kernels/kernel_table.h"
#include "attention/kernels/row_products.h"
#include "attention/kernels/simd_portable.h"

namespace softlookup::kernels {
namespace {

void ForwardTile(const HeadProblem& head, const ForwardTarget& target,
                 int64_t first_query, ForwardScratch& scratch) {
  ForwardKernel<SimdPortable>(head, target, scratch).Run(first_query);
}

void BackwardKeys(const BackwardGroup& group, int64_t begin, int64_t end,
                  BackwardScratch& scratch) {
  BackwardKernel<SimdPortable> kernel(scratch);
  kernel.Run(group, begin, end);
}

void RowProducts(const float* a, int64_t a_stride, const float* b,
                 int64_t b_stride, int64_t rows, int64_t width,
                 float* products) {
  RowProductsOf<SimdPortable>(a, a_stride, b, b_stride, rows, width, products);
}

void Gemm(const GemmBlock& block, GemmScratch& scratch) {
  GemmKernel<SimdPortable>(block, scratch).Run();
}

}  // namespace

const KernelTable kPortableKernels = {
    .forward_tile = ForwardTile,
    .backward_keys = BackwardKeys,
    .row_products = RowProducts,
    .gemm = Gemm,
    .map = ArrayKernels<SimdPortable>::Map,
    .add = ArrayKernels<SimdPortable>::Add,
    .scale = ArrayKernels<SimdPortable>::Scale,
    .sum = ArrayKernels<SimdPortable>::Sum,
    .sum_of_squares = ArrayKernels<SimdPortable>::SumOfSquares,
    .maximum = ArrayKernels<SimdPortable>::Maximum,
    .fma_chains = FmaChains<SimdPortable>,
    .lanes = SimdPortable::kLanes,
};

}  // namespace softlookup::kernels
