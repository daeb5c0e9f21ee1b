// Tiles between memory, where rows are positions, and the kernels' scratch,
// where lanes are.
#ifndef SOFTLOOKUP_ATTENTION_KERNELS_TRANSPOSE_H_
#define SOFTLOOKUP_ATTENTION_KERNELS_TRANSPOSE_H_

#include <cstdint>

#include "attention/kernels/always_inline.h"
#include "attention/kernels/head_mask.h"
#include "attention/kernels/head_problem.h"
#include "attention/kernels/load_block.h"

namespace softlookup::kernels {

// tile[k][lane] = scale rows[lane][k], for `width` columns k; lanes from
// `rows` to `lanes` are zero. `tile` has kQueryTile lanes a row.
template <typename Simd>
void LoadTransposed(const float* source, int64_t stride, int rows, int lanes,
                    int64_t width, float scale, float* tile) {
  constexpr int kLanes = Simd::kLanes;
  const typename Simd::Float factor = Simd::Set(scale);
  for (int lane = 0; lane < lanes; lane += kLanes) {
    for (int64_t k = 0; k < width; k += kLanes) {
      const int columns = static_cast<int>(Smaller(kLanes, width - k));
      typename Simd::Float block[kLanes];
      LoadBlock<Simd>(source + lane * stride + k, stride, rows - lane, columns,
                      block);
#pragma GCC unroll 16
      for (int c = 0; c < kLanes; ++c) {
        if (c < columns) {
          Simd::Store(tile + (k + c) * kQueryTile + lane,
                      Simd::Mul(block[c], factor));
        }
      }
    }
  }
}

// target[lane][k] = tile[k][lane] factor[lane].
template <typename Simd>
void StoreTransposed(const float* tile, int rows, int64_t width,
                     const float* factor, float* target, int64_t stride) {
  constexpr int kLanes = Simd::kLanes;
  for (int lane = 0; lane < rows; lane += kLanes) {
    for (int64_t k = 0; k < width; k += kLanes) {
      const int columns = static_cast<int>(Smaller(kLanes, width - k));
      typename Simd::Float block[kLanes];
      LoadBlock<Simd>(tile + k * kQueryTile + lane, kQueryTile, columns, kLanes,
                      block);
      float* to = target + lane * stride + k;
      if (lane + kLanes <= rows && columns == kLanes) {
#pragma GCC unroll 16
        for (int r = 0; r < kLanes; ++r) {
          Simd::Store(to + r * stride,
                      Simd::Mul(block[r], Simd::Broadcast(factor + lane + r)));
        }
        continue;
      }
#pragma GCC unroll 16
      for (int r = 0; r < kLanes; ++r) {
        if (lane + r >= rows) break;
        Simd::StoreFirst(
            to + r * stride,
            Simd::Mul(block[r], Simd::Broadcast(factor + lane + r)), columns);
      }
    }
  }
}

}  // namespace softlookup::kernels

#endif  // SOFTLOOKUP_ATTENTION_KERNELS_TRANSPOSE_H_
