// A view of a tensor's elements by strides: splitting, transposing and
// slicing move no data, and merging knows when it would have to.
//
//   // [B, T, d] -> [B, H, T, D] -> [B, T, d], as multi-head attention does.
//   StridedView<double> heads =
//       x.SplitAxis(2, {H, D}).Transpose(1, 2);      // no data moves
//   heads.Transpose(1, 2).MergeAxes(2, 2).ok();      // true: still one run
//   heads.MergeAxes(1, 2).ok();                      // false: needs a copy
//
// A view does not own its elements. A copy of it allocates two short vectors,
// its shape and strides: pass views by reference where a function runs often.
// Strides are in elements; a dimension of size 1 that is broadcast has stride
// 0.
#ifndef SOFTLOOKUP_BASE_TENSOR_STRIDED_VIEW_H_
#define SOFTLOOKUP_BASE_TENSOR_STRIDED_VIEW_H_

#include <cstdint>
#include <type_traits>
#include <utility>

#include "absl/status/statusor.h"
#include "base/check.h"
#include "base/status.h"
#include "base/tensor/shape.h"

namespace softlookup {

// Shape and strides, without the elements.
struct StridedLayout {
  Shape shape;
  Shape strides;

  // Splits `axis` into `sizes`, whose product must be its size.
  StridedLayout SplitAxis(int axis, const Shape& sizes) const;

  // Exchanges two axes.
  StridedLayout Transpose(int axis_a, int axis_b) const;

  // Merges the `count` axes from `axis` on into one. FailedPrecondition when
  // no single stride walks them in order, so that a copy is needed: the same
  // condition under which PyTorch's `view` raises and `reshape` copies.
  absl::StatusOr<StridedLayout> MergeAxes(int axis, int count) const;

  // Repeats every dimension of size 1 up to `shape` by stride 0.
  // InvalidArgument, with both shapes, when a dimension is neither 1 nor full.
  absl::StatusOr<StridedLayout> BroadcastTo(const Shape& shape) const;

  bool IsContiguous() const;
};

template <typename T>
class StridedView {
 public:
  StridedView() = default;
  // A row-major contiguous view of `shape`.
  StridedView(T* data, Shape shape)
      : data_(data), layout_{shape, ContiguousStrides(shape)} {}
  StridedView(T* data, StridedLayout layout)
      : data_(data), layout_(std::move(layout)) {}

  // A view of const elements from a view of mutable ones.
  template <typename U = T>
  requires std::is_const_v<U> StridedView(
      const StridedView<std::remove_const_t<U>>& other)  // NOLINT
      : data_(other.data()), layout_(other.layout()) {}

  T* data() const { return data_; }
  const StridedLayout& layout() const { return layout_; }
  const Shape& shape() const { return layout_.shape; }
  int rank() const { return static_cast<int>(layout_.shape.size()); }
  int64_t dim(int axis) const { return layout_.shape[axis]; }
  int64_t stride(int axis) const { return layout_.strides[axis]; }

  // The element at `indices`, one per axis, within bounds (not checked).
  template <typename... Index>
  T& operator()(Index... indices) const {
    int axis = 0;
    int64_t offset = 0;
    ((offset += static_cast<int64_t>(indices) * layout_.strides[axis++]), ...);
    return data_[offset];
  }

  StridedView SplitAxis(int axis, const Shape& sizes) const {
    return {data_, layout_.SplitAxis(axis, sizes)};
  }
  StridedView Transpose(int axis_a, int axis_b) const {
    return {data_, layout_.Transpose(axis_a, axis_b)};
  }
  absl::StatusOr<StridedView> MergeAxes(int axis, int count) const {
    SOFTLOOKUP_ASSIGN_OR_RETURN(StridedLayout merged,
                                layout_.MergeAxes(axis, count));
    return StridedView(data_, std::move(merged));
  }
  absl::StatusOr<StridedView> BroadcastTo(const Shape& shape) const {
    SOFTLOOKUP_ASSIGN_OR_RETURN(StridedLayout full, layout_.BroadcastTo(shape));
    return StridedView(data_, std::move(full));
  }
  // The elements [begin, end) of `axis`.
  StridedView Slice(int axis, int64_t begin, int64_t end) const {
    SOFTLOOKUP_CHECK(0 <= begin && begin <= end && end <= dim(axis),
                     "slice within the axis");
    StridedView slice = *this;
    slice.data_ += begin * stride(axis);
    slice.layout_.shape[axis] = end - begin;
    return slice;
  }

 private:
  T* data_ = nullptr;
  StridedLayout layout_;
};

// A function's parameter that reads elements. T is not deduced from it but
// from another parameter, so that a view of mutable elements converts.
template <typename T>
using ConstView = std::type_identity_t<StridedView<const T>>;

// Calls function(element_a, element_b, ...) for the elements of views of one
// shape, in row-major order.
template <typename Function, typename First, typename... Rest>
void ForEachElement(const Function& function, const StridedView<First>& first,
                    const StridedView<Rest>&... rest) {
  const int64_t count = NumElements(first.shape()).value();
  if (count == 0) return;
  if (first.rank() == 0) {
    function(*first.data(), *rest.data()...);
    return;
  }
  // The last axis in a loop of its own: strides are looked up once per run.
  const int last = first.rank() - 1;
  const int64_t run = first.dim(last);
  Shape index(last, 0);
  const auto offset = [&index](const StridedLayout& layout) {
    int64_t sum = 0;
    for (size_t axis = 0; axis < index.size(); ++axis) {
      sum += index[axis] * layout.strides[axis];
    }
    return sum;
  };
  const auto walk = [&](int64_t first_stride, auto... rest_strides) {
    const auto along = [&](First* a, auto*... others) {
      for (int64_t k = 0; k < run; ++k) {
        function(a[k * first_stride], others[k * rest_strides]...);
      }
    };
    along(first.data() + offset(first.layout()),
          rest.data() + offset(rest.layout())...);
  };
  for (int64_t n = 0; n < count; n += run) {
    walk(first.stride(last), rest.stride(last)...);
    for (int axis = last - 1; axis >= 0; --axis) {
      if (++index[axis] < first.dim(axis)) break;
      index[axis] = 0;
    }
  }
}

}  // namespace softlookup

#endif  // SOFTLOOKUP_BASE_TENSOR_STRIDED_VIEW_H_
