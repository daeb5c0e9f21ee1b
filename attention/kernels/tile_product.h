// The matrix product inside every kernel: C (+)= A B on one tile.
//
// C is [rows, lanes], B is [depth, lanes], both with contiguous lanes; A is
// [rows, depth] with any strides, read by broadcast. Each element of A B is one
// chain of fused multiply-adds over depth in ascending order, from 0; with
// kAccumulate it is then added to C: its bits depend on nothing but the
// operands. Long sums are built of such parts, which round less than one long
// chain does.
//
// The micro-kernel holds kRows x kVectors accumulators in registers.
#ifndef SOFTLOOKUP_ATTENTION_KERNELS_TILE_PRODUCT_H_
#define SOFTLOOKUP_ATTENTION_KERNELS_TILE_PRODUCT_H_

#include <cstdint>

#include "attention/kernels/always_inline.h"

namespace softlookup::kernels {

// A strided matrix of floats.
struct ConstTile {
  const float* data;
  int64_t row_stride;
  int64_t column_stride;
};

template <typename Simd, int kRows, int kVectors, bool kAccumulate>
SOFTLOOKUP_INLINE void MicroProduct(ConstTile a, const float* b,
                                    int64_t b_stride, float* c,
                                    int64_t c_stride, int64_t depth) {
  typename Simd::Float sum[kRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      sum[r][v] = Simd::Zero();
    }
  }
  for (int64_t k = 0; k < depth; ++k) {
    typename Simd::Float b_row[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      b_row[v] = Simd::Load(b + k * b_stride + v * Simd::kLanes);
    }
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const typename Simd::Float a_element =
          Simd::Broadcast(a.data + r * a.row_stride + k * a.column_stride);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        sum[r][v] = Simd::Fma(a_element, b_row[v], sum[r][v]);
      }
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      float* target = c + r * c_stride + v * Simd::kLanes;
      Simd::Store(target, kAccumulate ? Simd::Add(Simd::Load(target), sum[r][v])
                                      : sum[r][v]);
    }
  }
}

// The rows that are left over when kRows does not divide them: one of the
// smaller micro-kernels, so that an odd row count costs what its rows cost.
template <typename Simd, int kRows, int kVectors, bool kAccumulate>
SOFTLOOKUP_INLINE void RemainderProduct(int64_t rows, ConstTile a,
                                        const float* b, int64_t b_stride,
                                        float* c, int64_t c_stride,
                                        int64_t depth) {
  if constexpr (kRows > 0) {
    if (rows == kRows) {
      MicroProduct<Simd, kRows, kVectors, kAccumulate>(a, b, b_stride, c,
                                                       c_stride, depth);
    } else {
      RemainderProduct<Simd, kRows - 1, kVectors, kAccumulate>(
          rows, a, b, b_stride, c, c_stride, depth);
    }
  }
}

// All rows of C in one column panel of kVectors vectors.
template <typename Simd, int kRows, int kVectors, bool kAccumulate>
__attribute__((noinline)) void PanelProduct(int64_t rows, ConstTile a,
                                            const float* b, int64_t b_stride,
                                            float* c, int64_t c_stride,
                                            int64_t depth) {
  int64_t r = 0;
  for (; r + kRows <= rows; r += kRows) {
    MicroProduct<Simd, kRows, kVectors, kAccumulate>(a, b, b_stride, c,
                                                     c_stride, depth);
    a.data += kRows * a.row_stride;
    c += kRows * c_stride;
  }
  RemainderProduct<Simd, kRows - 1, kVectors, kAccumulate>(
      rows - r, a, b, b_stride, c, c_stride, depth);
}

// C (+)= A B for `lanes` columns, a multiple of Simd::kLanes.
template <typename Simd, bool kAccumulate>
SOFTLOOKUP_INLINE void TileProduct(int64_t rows, ConstTile a, const float* b,
                                   int64_t b_stride, float* c, int64_t c_stride,
                                   int64_t lanes, int64_t depth) {
  constexpr int kLanes = Simd::kLanes;
  int64_t at = 0;
  if (lanes % (3 * kLanes) == 0) {
    for (; at < lanes; at += 3 * kLanes) {
      PanelProduct<Simd, Simd::kRowsBeside3, 3, kAccumulate>(
          rows, a, b + at, b_stride, c + at, c_stride, depth);
    }
    return;
  }
  for (; at + 2 * kLanes <= lanes; at += 2 * kLanes) {
    PanelProduct<Simd, Simd::kRowsBeside2, 2, kAccumulate>(
        rows, a, b + at, b_stride, c + at, c_stride, depth);
  }
  if (at < lanes) {
    PanelProduct<Simd, Simd::kRowsBeside1, 1, kAccumulate>(
        rows, a, b + at, b_stride, c + at, c_stride, depth);
  }
}

}  // namespace softlookup::kernels

#endif  // SOFTLOOKUP_ATTENTION_KERNELS_TILE_PRODUCT_H_
