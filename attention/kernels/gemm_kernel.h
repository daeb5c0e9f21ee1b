// One block of a matrix product, C (+)= A B, of any strides.
//
// The block is computed in slices of the inner dimension and panels of
// columns. A panel of B is packed so that its lanes are contiguous and stay in
// the first-level cache; A is read in place by broadcast, or packed when its
// rows are not contiguous. Packing copies numbers, it computes nothing.
//
// Fixed order (see determinism.md): an element is the sum, slice by slice in
// ascending order, of one chain of fused multiply-adds per kGemmSlice inner
// elements. Blocks, panels and packing decide speed and nothing else.
#ifndef SOFTLOOKUP_ATTENTION_KERNELS_GEMM_KERNEL_H_
#define SOFTLOOKUP_ATTENTION_KERNELS_GEMM_KERNEL_H_

#include <cstdint>

#include "attention/kernels/always_inline.h"
#include "attention/kernels/tile_memory.h"
#include "attention/kernels/tile_product.h"

namespace softlookup::kernels {

// The most rows of a block.
inline constexpr int64_t kGemmRows = 384;
// Columns of the widest panel.
inline constexpr int64_t kGemmPanel = 48;
// Inner elements of a slice; part of the definition of the result's bits.
inline constexpr int64_t kGemmSlice = 128;

struct GemmBlock {
  ConstTile a;  // [rows, depth]
  ConstTile b;  // [depth, columns]
  float* c;     // [rows, columns]
  int64_t c_row_stride;
  int64_t c_column_stride;
  int64_t rows;  // up to kGemmRows
  int64_t columns;
  int64_t depth;
  bool accumulate;  // start from C, not from 0
};

struct alignas(64) GemmScratch {
  float a[kGemmRows * kGemmSlice];   // a slice of A, [rows, depth]
  float b[kGemmSlice * kGemmPanel];  // a panel of B, [depth, lanes]
  float c[kGemmRows * kGemmPanel];   // a panel of C that is not a whole one
};

template <typename Simd>
class GemmKernel {
 public:
  GemmKernel(const GemmBlock& block, GemmScratch& scratch)
      : block_(block), scratch_(scratch) {}

  void Run() {
    // Without an inner dimension the product is 0: one empty slice writes it.
    int64_t k = 0;
    do {
      const int64_t depth = Smaller(kGemmSlice, block_.depth - k);
      Slice(k, depth);
      k += depth;
    } while (k < block_.depth);
  }

 private:
  static constexpr int kLanes = Simd::kLanes;

  void Slice(int64_t k, int64_t depth) {
    ConstTile a = block_.a;
    a.data += k * a.column_stride;
    if (WorthPackingA()) a = PackA(a, depth);
    for (int64_t column = 0; column < block_.columns;) {
      const int64_t left = block_.columns - column;
      const int64_t used = Smaller(PanelLanes(left), left);
      Panel(a, k, depth, column, used);
      column += used;
    }
  }

  // The lanes of the next panel, so that few are wasted and no vector works
  // alone where it could share what is broadcast.
  static int64_t PanelLanes(int64_t columns) {
    if (columns > 64 || (columns > 32 && columns <= 48)) return 48;
    return columns > 16 ? 32 : 16;
  }

  // Rows of A whose elements lie apart, and rows that lie a large power of two
  // apart and so share a few places of the cache.
  bool WorthPackingA() const {
    if (block_.columns <= kGemmPanel) return false;
    return block_.a.column_stride != 1 ||
           (block_.a.row_stride % 512 == 0 && block_.rows > 4);
  }

  ConstTile PackA(ConstTile a, int64_t depth) {
    if (a.column_stride == 1) {
      for (int64_t row = 0; row < block_.rows; ++row) {
        CopyLanes(a.data + row * a.row_stride, depth, RoundUp(depth, kLanes),
                  scratch_.a + row * kGemmSlice);
      }
    } else if (a.row_stride == 1) {
      CopyTransposed(a.data, a.column_stride, depth, RoundUp(depth, kLanes),
                     block_.rows, scratch_.a, kGemmSlice);
    } else {
      CopyElements(a, block_.rows, depth, scratch_.a, kGemmSlice, 1);
    }
    return {scratch_.a, kGemmSlice, 1};
  }

  // Columns [column, column + used) of C, one slice.
  void Panel(ConstTile a, int64_t k, int64_t depth, int64_t column,
             int64_t used) {
    const int64_t lanes = RoundUp(used, 16);
    ConstTile b = block_.b;
    b.data += k * b.row_stride + column * b.column_stride;
    // Few rows do not pay for packing.
    if (b.column_stride != 1 || used != lanes || block_.rows > 16) {
      b = PackB(b, depth, used, lanes);
    }
    float* c = block_.c + column * block_.c_column_stride;
    const bool accumulate = block_.accumulate || k > 0;
    if (used == lanes && block_.c_column_stride == 1) {
      Product(accumulate, a, b, c, block_.c_row_stride, lanes, depth);
      return;
    }
    const ConstTile target = {c, block_.c_row_stride, block_.c_column_stride};
    if (accumulate) {
      CopyElements(target, block_.rows, used, scratch_.c, lanes, 1);
    }
    Product(accumulate, a, b, scratch_.c, lanes, lanes, depth);
    CopyElements({scratch_.c, lanes, 1}, block_.rows, used, c,
                 block_.c_row_stride, block_.c_column_stride);
  }

  SOFTLOOKUP_INLINE void Product(bool accumulate, ConstTile a, ConstTile b,
                                 float* c, int64_t c_stride, int64_t lanes,
                                 int64_t depth) {
    if (accumulate) {
      TileProduct<Simd, true>(block_.rows, a, b.data, b.row_stride, c, c_stride,
                              lanes, depth);
    } else {
      TileProduct<Simd, false>(block_.rows, a, b.data, b.row_stride, c,
                               c_stride, lanes, depth);
    }
  }

  ConstTile PackB(ConstTile b, int64_t depth, int64_t used, int64_t lanes) {
    if (b.column_stride == 1) {
      for (int64_t k = 0; k < depth; ++k) {
        CopyLanes(b.data + k * b.row_stride, used, lanes,
                  scratch_.b + k * lanes);
      }
    } else if (b.row_stride == 1) {
      CopyTransposed(b.data, b.column_stride, used, lanes, depth, scratch_.b,
                     lanes);
    } else {
      // Lanes beyond `used` are computed and thrown away.
      for (int64_t i = 0; i < depth * lanes; ++i) scratch_.b[i] = 0;
      CopyElements(b, depth, used, scratch_.b, lanes, 1);
    }
    return {scratch_.b, lanes, 1};
  }

  // target[i] = source[i] for i < used, 0 from there to `lanes`, a multiple of
  // kLanes.
  SOFTLOOKUP_INLINE static void CopyLanes(const float* source, int64_t used,
                                          int64_t lanes, float* target) {
    for (int64_t i = 0; i < lanes; i += kLanes) {
      const int count = static_cast<int>(Larger(Smaller(used - i, kLanes), 0));
      Simd::Store(target + i, Simd::LoadFirst(source + i, count));
    }
  }

  // target[c][r] = source[r][c] for r < rows and c < columns, 0 for r from
  // `rows` to `padded_rows`, a multiple of kLanes.
  static void CopyTransposed(const float* source, int64_t source_stride,
                             int64_t rows, int64_t padded_rows, int64_t columns,
                             float* target, int64_t target_stride) {
    for (int64_t row = 0; row < padded_rows; row += kLanes) {
      for (int64_t column = 0; column < columns; column += kLanes) {
        const int count = static_cast<int>(Smaller(kLanes, columns - column));
        typename Simd::Float tile[kLanes];
        LoadBlock<Simd>(source + row * source_stride + column, source_stride,
                        static_cast<int>(Smaller(rows - row, kLanes)), count,
                        tile);
        for (int c = 0; c < count; ++c) {
          Simd::Store(target + (column + c) * target_stride + row, tile[c]);
        }
      }
    }
  }

  static void CopyElements(ConstTile source, int64_t rows, int64_t columns,
                           float* target, int64_t row_stride,
                           int64_t column_stride) {
    for (int64_t row = 0; row < rows; ++row) {
      const float* from = source.data + row * source.row_stride;
      float* to = target + row * row_stride;
      if (source.column_stride == 1 && column_stride == 1) {
        for (int64_t k = 0; k < columns; ++k) to[k] = from[k];
        continue;
      }
      for (int64_t k = 0; k < columns; ++k) {
        to[k * column_stride] = from[k * source.column_stride];
      }
    }
  }

  const GemmBlock& block_;
  GemmScratch& scratch_;
};

}  // namespace softlookup::kernels

#endif  // SOFTLOOKUP_ATTENTION_KERNELS_GEMM_KERNEL_H_
