// The dot products of corresponding rows of two matrices.
#ifndef SOFTLOOKUP_ATTENTION_KERNELS_ROW_PRODUCTS_H_
#define SOFTLOOKUP_ATTENTION_KERNELS_ROW_PRODUCTS_H_

#include <cstdint>

#include "attention/kernels/head_mask.h"
#include "attention/kernels/head_problem.h"
#include "attention/kernels/transpose.h"

namespace softlookup::kernels {

// products[i] = sum_k a[i, k] b[i, k]: lanes along the rows, one fused chain
// over k each (see determinism.md).
template <typename Simd>
void RowProductsOf(const float* a, int64_t a_stride, const float* b,
                   int64_t b_stride, int64_t rows, int64_t width,
                   float* products) {
  constexpr int kLanes = Simd::kLanes;
  for (int64_t row = 0; row < rows; row += kLanes) {
    const int count = static_cast<int>(Smaller(kLanes, rows - row));
    typename Simd::Float sum = Simd::Zero();
    for (int64_t k = 0; k < width; k += kLanes) {
      const int columns = static_cast<int>(Smaller(kLanes, width - k));
      typename Simd::Float a_block[kLanes];
      typename Simd::Float b_block[kLanes];
      for (int r = 0; r < kLanes; ++r) {
        const bool used = r < count;
        a_block[r] =
            used ? Simd::LoadFirst(a + (row + r) * a_stride + k, columns)
                 : Simd::Zero();
        b_block[r] =
            used ? Simd::LoadFirst(b + (row + r) * b_stride + k, columns)
                 : Simd::Zero();
      }
      Simd::Transpose(a_block);
      Simd::Transpose(b_block);
      for (int c = 0; c < columns; ++c) {
        sum = Simd::Fma(a_block[c], b_block[c], sum);
      }
    }
    Simd::StoreFirst(products + row, sum, count);
  }
}

}  // namespace softlookup::kernels

#endif  // SOFTLOOKUP_ATTENTION_KERNELS_ROW_PRODUCTS_H_
