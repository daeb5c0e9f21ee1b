// The kernels for one instruction set; see kernel_table.h.
#include "attention/kernels/array_kernels.h"
#include "attention/kernels/backward_kernel.h"
#include "attention/kernels/fma_peak.h"
#include "attention/kernels/forward_kernel.h"
#include "attention/kernels/gemm_kernel.h"
#include "attention/kernels/kernel_table.h"
#include "attention/kernels/row_products.h"
#include "attention/kernels/simd_avx2.h"

namespace softlookup::kernels {
namespace {

void ForwardTile(const HeadProblem& head, const ForwardTarget& target,
                 int64_t first_query, ForwardScratch& scratch) {
  ForwardKernel<SimdAvx2>(head, target, scratch).Run(first_query);
}

void BackwardKeys(const BackwardGroup& group, int64_t begin, int64_t end,
                  BackwardScratch& scratch) {
  BackwardKernel<SimdAvx2> kernel(scratch);
  kernel.Run(group, begin, end);
}

void RowProducts(const float* a, int64_t a_stride, const float* b,
                 int64_t b_stride, int64_t rows, int64_t width,
                 float* products) {
  RowProductsOf<SimdAvx2>(a, a_stride, b, b_stride, rows, width, products);
}

void Gemm(const GemmBlock& block, GemmScratch& scratch) {
  GemmKernel<SimdAvx2>(block, scratch).Run();
}

}  // namespace

const KernelTable kAvx2Kernels = {
    .forward_tile = ForwardTile,
    .backward_keys = BackwardKeys,
    .row_products = RowProducts,
    .gemm = Gemm,
    .map = ArrayKernels<SimdAvx2>::Map,
    .add = ArrayKernels<SimdAvx2>::Add,
    .scale = ArrayKernels<SimdAvx2>::Scale,
    .sum = ArrayKernels<SimdAvx2>::Sum,
    .sum_of_squares = ArrayKernels<SimdAvx2>::SumOfSquares,
    .maximum = ArrayKernels<SimdAvx2>::Maximum,
    .fma_chains = FmaChains<SimdAvx2>,
    .lanes = SimdAvx2::kLanes,
};

}  // namespace softlookup::kernels
