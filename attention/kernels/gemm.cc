#include "attention/kernels/gemm.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "absl/strings/str_cat.h"
#include "attention/kernels/gemm_kernel.h"
#include "attention/kernels/kernel_run.h"
#include "attention/kernels/view_checks.h"
#include "base/status.h"
#include "base/tensor/shape.h"

namespace softlookup::kernels {
namespace {

using View = StridedView<const float>;

static_assert(sizeof(GemmScratch) == kGemmScratchBytes);

absl::Status CheckMatrix(absl::string_view name, const View& matrix) {
  if (matrix.rank() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " has shape ", ShapeString(matrix.shape()),
                     "; allowed: a matrix, of rank 2"));
  }
  return CheckAlignment(name, matrix);
}

absl::Status Check(const View& a, const View& b, const StridedView<float>& c,
                   const GemmOptions& options) {
  SOFTLOOKUP_RETURN_IF_ERROR(CheckMatrix("A", a));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckMatrix("B", b));
  if (a.dim(1) != b.dim(0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("A has shape ", ShapeString(a.shape()), " and B ",
                     ShapeString(b.shape()),
                     "; allowed: as many rows of B as columns of A"));
  }
  SOFTLOOKUP_RETURN_IF_ERROR(CheckTarget("C", c, {a.dim(0), b.dim(1)}));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckApart("C", c, "A", a));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckApart("C", c, "B", b));
  if (options.bias.data() == nullptr) return absl::OkStatus();
  const int64_t size = static_cast<int64_t>(options.bias.size());
  if (size != b.dim(1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("bias has ", size, " elements; allowed: ", b.dim(1),
                     ", one per column of B"));
  }
  const View bias(options.bias.data(), Shape{size});
  SOFTLOOKUP_RETURN_IF_ERROR(CheckAlignment("bias", bias));
  return CheckApart("C", c, "bias", bias);
}

// The sizes of the blocks that tasks compute.
struct Blocks {
  int64_t rows;
  int64_t columns;
};

// Of a block. C is read and written once per slice, so it need not stay in a
// cache.
constexpr int64_t kMaxColumns = 8 * kGemmPanel;

// The size of each of `parts` blocks of n, a multiple of what micro-kernels and
// panels divide.
int64_t BlockSize(int64_t n, int64_t parts, int64_t multiple) {
  return RoundUp(CeilDivide(n, parts), multiple);
}

// Packing an element of B costs about as much as this many multiply-adds of
// vectors do: the rows of a block that packing is worth.
constexpr int64_t kPackingRows = 12;

// The blocks by which the thread that computes most of them is done first.
// Large blocks pack less, many divide more evenly.
Blocks ChooseBlocks(int64_t m, int64_t n, int threads) {
  const int64_t fewest_rows = CeilDivide(m, kGemmRows);
  const int64_t fewest_columns = CeilDivide(n, kMaxColumns);
  Blocks best = {BlockSize(m, fewest_rows, 8),
                 BlockSize(n, fewest_columns, kGemmPanel)};
  if (threads == 1) return best;
  // More parts than these leave blocks too small to pay, or none.
  const int64_t most_columns =
      std::min(CeilDivide(n, 2 * kGemmPanel), fewest_columns + 2 * threads);
  const int64_t most_rows =
      std::min(CeilDivide(m, 8), fewest_rows + 2 * threads);
  double least = std::numeric_limits<double>::infinity();
  for (int64_t column_parts = fewest_columns; column_parts <= most_columns;
       ++column_parts) {
    const int64_t columns = BlockSize(n, column_parts, kGemmPanel);
    for (int64_t row_parts = fewest_rows; row_parts <= most_rows; ++row_parts) {
      const int64_t rows = BlockSize(m, row_parts, 8);
      const int64_t blocks = CeilDivide(m, rows) * CeilDivide(n, columns);
      const double cost = static_cast<double>(
          CeilDivide(blocks, threads) * std::min(columns, n) *
          (std::min(rows, m) + kPackingRows));
      if (cost < least) {
        least = cost;
        best = {rows, columns};
      }
      // From here on there is a block for every thread, and more.
      if (blocks >= 3 * threads) break;
    }
  }
  return best;
}

// Fewer columns than this leave lanes empty.
constexpr int64_t kNarrow = 12;

// Waking threads costs more than this many multiply-adds.
constexpr int64_t kWorthThreads = 1 << 18;

}  // namespace

absl::Status Gemm(const View& a, const View& b, const StridedView<float>& c,
                  const GemmOptions& options, const KernelOptions& execution) {
  SOFTLOOKUP_RETURN_IF_ERROR(Check(a, b, c, options));
  const int64_t m = a.dim(0);
  const int64_t n = b.dim(1);
  const int64_t k = a.dim(1);
  if (m == 0 || n == 0) return absl::OkStatus();
  const KernelTable& kernels = KernelsFor(execution.instruction_set);
  // In doubles, which do not overflow.
  const double work =
      static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const KernelOptions threads = {
      execution.instruction_set,
      work < kWorthThreads ? nullptr : execution.pool};
  const Blocks blocks = ChooseBlocks(m, n, threads.threads());
  const int64_t row_blocks = CeilDivide(m, blocks.rows);
  const int64_t column_blocks = CeilDivide(n, blocks.columns);
  threads.ParallelFor(row_blocks * column_blocks, [&](int64_t task) {
    const int64_t row = task / column_blocks * blocks.rows;
    const int64_t column = task % column_blocks * blocks.columns;
    const int64_t rows = std::min(blocks.rows, m - row);
    const int64_t columns = std::min(blocks.columns, n - column);
    GemmScratch& scratch = ThreadScratch<GemmScratch>();
    const ConstTile of_a = {a.data() + row * a.stride(0), a.stride(0),
                            a.stride(1)};
    const ConstTile of_b = {b.data() + column * b.stride(1), b.stride(0),
                            b.stride(1)};
    float* of_c = &c(row, column);
    if (columns < kNarrow && rows > columns) {
      // C^T = B^T A^T fills the lanes.
      kernels.gemm({.a = {of_b.data, of_b.column_stride, of_b.row_stride},
                    .b = {of_a.data, of_a.column_stride, of_a.row_stride},
                    .c = of_c,
                    .c_row_stride = 1,
                    .c_column_stride = c.stride(0),
                    .rows = columns,
                    .columns = rows,
                    .depth = k,
                    .accumulate = options.accumulate},
                   scratch);
    } else {
      kernels.gemm({.a = of_a,
                    .b = of_b,
                    .c = of_c,
                    .c_row_stride = c.stride(0),
                    .c_column_stride = 1,
                    .rows = rows,
                    .columns = columns,
                    .depth = k,
                    .accumulate = options.accumulate},
                   scratch);
    }
    for (int64_t i = 0; i < rows; ++i) {
      float* elements = of_c + i * c.stride(0);
      if (options.bias.data() != nullptr) {
        kernels.add(options.bias.data() + column, elements, columns);
      }
      if (options.activation.has_value()) {
        kernels.map(*options.activation, elements, elements, columns);
      }
    }
  });
  return absl::OkStatus();
}

}  // namespace softlookup::kernels
