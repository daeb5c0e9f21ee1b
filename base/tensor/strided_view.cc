#include "base/tensor/strided_view.h"

#include <optional>

#include "absl/strings/str_cat.h"

namespace softlookup {

StridedLayout StridedLayout::SplitAxis(int axis, const Shape& sizes) const {
  SOFTLOOKUP_CHECK(NumElements(sizes) == shape[axis],
                   "the sizes multiply to the axis");
  StridedLayout split;
  for (int a = 0; a < static_cast<int>(shape.size()); ++a) {
    if (a != axis) {
      split.shape.push_back(shape[a]);
      split.strides.push_back(strides[a]);
      continue;
    }
    const Shape inner = ContiguousStrides(sizes);
    for (size_t i = 0; i < sizes.size(); ++i) {
      split.shape.push_back(sizes[i]);
      split.strides.push_back(inner[i] * strides[a]);
    }
  }
  return split;
}

StridedLayout StridedLayout::Transpose(int axis_a, int axis_b) const {
  StridedLayout transposed = *this;
  std::swap(transposed.shape[axis_a], transposed.shape[axis_b]);
  std::swap(transposed.strides[axis_a], transposed.strides[axis_b]);
  return transposed;
}

absl::StatusOr<StridedLayout> StridedLayout::MergeAxes(int axis,
                                                       int count) const {
  // Axes of size 1 are never stepped along, so their strides do not matter.
  // The others must nest: each stride is the next one's times its size.
  int64_t merged_size = 1;
  int64_t merged_stride = 1;
  std::optional<int64_t> expected;  // none: no axis longer than 1 seen yet
  bool empty = false;
  for (int a = axis; a < axis + count; ++a) empty |= shape[a] == 0;
  for (int a = axis + count; a-- > axis;) {
    merged_size *= shape[a];
    if (shape[a] == 1 || empty) continue;
    if (!expected.has_value()) {
      merged_stride = strides[a];
    } else if (strides[a] != *expected) {
      return absl::FailedPreconditionError(
          absl::StrCat("merging axes ", axis, " to ", axis + count - 1,
                       " of shape ", ShapeString(shape), " with strides ",
                       ShapeString(strides), " needs a copy"));
    }
    expected = strides[a] * shape[a];
  }
  StridedLayout merged;
  for (int a = 0; a < static_cast<int>(shape.size()); ++a) {
    if (a == axis) {
      merged.shape.push_back(merged_size);
      merged.strides.push_back(merged_stride);
    }
    if (a >= axis && a < axis + count) continue;
    merged.shape.push_back(shape[a]);
    merged.strides.push_back(strides[a]);
  }
  return merged;
}

absl::StatusOr<StridedLayout> StridedLayout::BroadcastTo(
    const Shape& full) const {
  bool fits = full.size() == shape.size();
  for (size_t a = 0; fits && a < full.size(); ++a) {
    fits = shape[a] == 1 || shape[a] == full[a];
  }
  if (!fits) {
    return absl::InvalidArgumentError(
        absl::StrCat("shape ", ShapeString(shape), " does not broadcast to ",
                     ShapeString(full), "; each dimension must be 1 or full"));
  }
  StridedLayout broadcast{full, strides};
  for (size_t a = 0; a < full.size(); ++a) {
    if (shape[a] == 1 && full[a] != 1) broadcast.strides[a] = 0;
  }
  return broadcast;
}

bool StridedLayout::IsContiguous() const {
  const Shape contiguous = ContiguousStrides(shape);
  for (size_t a = 0; a < shape.size(); ++a) {
    if (shape[a] != 1 && strides[a] != contiguous[a]) return false;
  }
  return true;
}

}  // namespace softlookup
