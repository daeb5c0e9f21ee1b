// Tiles in memory, where rows are positions: asked for ahead of time, looked
// through for what is not finite, and transposed on their way to and from the
// kernels' scratch, where lanes are positions.
#ifndef SOFTLOOKUP_ATTENTION_KERNELS_TILE_MEMORY_H_
#define SOFTLOOKUP_ATTENTION_KERNELS_TILE_MEMORY_H_

#include <cstdint>

#include "attention/kernels/always_inline.h"
#include "attention/kernels/masked_head.h"

namespace softlookup::kernels {

// Asks for rows that will be read soon.
SOFTLOOKUP_INLINE void PrefetchRows(const float* rows, int64_t stride,
                                    int64_t count, int64_t width) {
  constexpr int64_t kCacheLine = 16;
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t k = 0; k < width; k += kCacheLine) {
      __builtin_prefetch(rows + i * stride + k);
    }
  }
}

// Whether a tile in memory holds neither infinities nor NaN: where a masked
// weight of 0 may be multiplied like any other, because 0 times it is 0.
template <typename Simd>
bool AllFinite(const float* tile, int64_t stride, int64_t rows, int64_t width) {
  // 0 times what is not finite is NaN, and a sum with a NaN stays NaN. Four
  // sums, because each waits for its last addition.
  typename Simd::Float sum[4];
  for (auto& part : sum) part = Simd::Zero();
  const int64_t whole = width / Simd::kLanes * Simd::kLanes;
  int64_t row = 0;
  for (; row + 4 <= rows; row += 4) {
    for (int64_t k = 0; k < whole; k += Simd::kLanes) {
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        sum[i] = Simd::Fma(Simd::Load(tile + (row + i) * stride + k),
                           Simd::Zero(), sum[i]);
      }
    }
  }
  for (; row < rows; ++row) {
    for (int64_t k = 0; k < whole; k += Simd::kLanes) {
      sum[0] =
          Simd::Fma(Simd::Load(tile + row * stride + k), Simd::Zero(), sum[0]);
    }
  }
  if (whole < width) {
    for (row = 0; row < rows; ++row) {
      sum[0] = Simd::Fma(Simd::LoadFirst(tile + row * stride + whole,
                                         static_cast<int>(width - whole)),
                         Simd::Zero(), sum[0]);
    }
  }
  return !Simd::Any(Simd::IsNan(
      Simd::Add(Simd::Add(sum[0], sum[1]), Simd::Add(sum[2], sum[3]))));
}

// A square block, transposed into registers: block[c] lane r = element c of row
// r, of kLanes rows in memory of which `rows` and `columns` are read; the
// others count as zero.
template <typename Simd>
SOFTLOOKUP_INLINE void LoadBlock(const float* source, int64_t stride, int rows,
                                 int columns, typename Simd::Float* block) {
  constexpr int kLanes = Simd::kLanes;
  if (rows >= kLanes && columns == kLanes) {
    Simd::LoadTransposed(source, stride, block);
    return;
  }
#pragma GCC unroll 16
  for (int r = 0; r < kLanes; ++r) {
    block[r] =
        r < rows ? Simd::LoadFirst(source + r * stride, columns) : Simd::Zero();
  }
  Simd::Transpose(block);
}

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

#endif  // SOFTLOOKUP_ATTENTION_KERNELS_TILE_MEMORY_H_
