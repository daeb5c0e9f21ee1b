#include "attention/textbook/boolean_mask.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/tensor/shape.h"
#include "base/tensor/strided_view.h"

namespace softlookup {
namespace {

// The mask as a view of `rank` dimensions: ones are put in front.
StridedView<const uint8_t> WithRank(const BooleanMask& mask, size_t rank) {
  Shape shape(rank - mask.shape().size(), 1);
  shape.insert(shape.end(), mask.shape().begin(), mask.shape().end());
  return {mask.data(), shape};
}

}  // namespace

BooleanMask CausalMask(int64_t positions) {
  BooleanMask mask({positions, positions});
  for (int64_t i = 0; i < positions; ++i) {
    for (int64_t j = 0; j <= i; ++j) mask(i, j) = 1;
  }
  return mask;
}

BooleanMask RealPositions(absl::Span<const int64_t> lengths, int64_t positions,
                          PaddingSide side) {
  const int64_t batch = static_cast<int64_t>(lengths.size());
  BooleanMask real({batch, positions});
  for (int64_t b = 0; b < batch; ++b) {
    SOFTLOOKUP_CHECK(0 <= lengths[b] && lengths[b] <= positions,
                     "lengths fit the padded batch");
    const int64_t start =
        side == PaddingSide::kRight ? 0 : positions - lengths[b];
    for (int64_t n = 0; n < lengths[b]; ++n) real(b, start + n) = 1;
  }
  return real;
}

BooleanMask OverHeadsAndQueries(const BooleanMask& real) {
  SOFTLOOKUP_CHECK(real.shape().size() == 2, "[B, T]");
  return BooleanMask({real.dim(0), 1, 1, real.dim(1)}, real.elements());
}

absl::StatusOr<BooleanMask> LogicalAnd(const BooleanMask& a,
                                       const BooleanMask& b) {
  const size_t rank = std::max(a.shape().size(), b.shape().size());
  const StridedView<const uint8_t> a_view = WithRank(a, rank);
  const StridedView<const uint8_t> b_view = WithRank(b, rank);
  Shape shape(rank);
  for (size_t axis = 0; axis < rank; ++axis) {
    const int64_t a_size = a_view.shape()[axis];
    const int64_t b_size = b_view.shape()[axis];
    if (a_size != b_size && a_size != 1 && b_size != 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "masks of shapes ", ShapeString(a.shape()), " and ",
          ShapeString(b.shape()),
          " do not broadcast; allowed: sizes, from the last, equal or 1"));
    }
    shape[axis] = a_size == 1 ? b_size : a_size;
  }
  BooleanMask both(shape);
  ForEachElement(
      [](uint8_t& out, uint8_t x, uint8_t y) { out = x != 0 && y != 0; },
      both.view(), a_view.BroadcastTo(shape).value(),
      b_view.BroadcastTo(shape).value());
  return both;
}

int64_t CountTrue(const BooleanMask& mask) {
  return std::count_if(mask.elements().begin(), mask.elements().end(),
                       [](uint8_t entry) { return entry != 0; });
}

}  // namespace softlookup
