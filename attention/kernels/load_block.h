// A square block of a matrix in memory, transposed into registers.
#ifndef SOFTLOOKUP_ATTENTION_KERNELS_LOAD_BLOCK_H_
#define SOFTLOOKUP_ATTENTION_KERNELS_LOAD_BLOCK_H_

#include <cstdint>

#include "attention/kernels/always_inline.h"

namespace softlookup::kernels {

// block[c] lane r = element c of row r, of kLanes rows in memory of which
// `rows` and `columns` are read; the others count as zero.
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

}  // namespace softlookup::kernels

#endif  // SOFTLOOKUP_ATTENTION_KERNELS_LOAD_BLOCK_H_
