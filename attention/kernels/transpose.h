// Tiles between memory, where rows are positions, and the kernels' scratch,
// where lanes are.
#ifndef SOFTLOOKUP_ATTENTION_KERNELS_TRANSPOSE_H_
#define SOFTLOOKUP_ATTENTION_KERNELS_TRANSPOSE_H_

#include <cstdint>

#include "attention/kernels/always_inline.h"
#include "attention/kernels/head_mask.h"
#include "attention/kernels/head_problem.h"

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
      for (int r = 0; r < kLanes; ++r) {
        block[r] =
            lane + r < rows
                ? Simd::LoadFirst(source + (lane + r) * stride + k, columns)
                : Simd::Zero();
      }
      Simd::Transpose(block);
      for (int c = 0; c < columns; ++c) {
        Simd::Store(tile + (k + c) * kQueryTile + lane,
                    Simd::Mul(block[c], factor));
      }
    }
  }
}

// target[lane][k] = tile[k][lane] factor[lane], or 0 where the factor is 0.
template <typename Simd>
void StoreTransposed(const float* tile, int rows, int64_t width,
                     const float* factor, float* target, int64_t stride) {
  constexpr int kLanes = Simd::kLanes;
  for (int lane = 0; lane < rows; lane += kLanes) {
    for (int64_t k = 0; k < width; k += kLanes) {
      const int columns = static_cast<int>(Smaller(kLanes, width - k));
      typename Simd::Float block[kLanes];
      for (int c = 0; c < kLanes; ++c) {
        block[c] = c < columns ? Simd::Load(tile + (k + c) * kQueryTile + lane)
                               : Simd::Zero();
      }
      Simd::Transpose(block);
      for (int r = 0; r < kLanes && lane + r < rows; ++r) {
        Simd::StoreFirst(target + (lane + r) * stride + k,
                         factor[lane + r] == 0
                             ? Simd::Zero()
                             : Simd::Mul(block[r], Simd::Set(factor[lane + r])),
                         columns);
      }
    }
  }
}

}  // namespace softlookup::kernels

#endif  // SOFTLOOKUP_ATTENTION_KERNELS_TRANSPOSE_H_
