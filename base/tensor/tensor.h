// A row-major tensor that owns its elements.
//
//   Tensor<double> scores({B, H, Tq, Tk});      // zeros
//   scores.view()(b, h, i, j) = 0.5;
//   Tensor<double> copy = Copy(scores.view().Transpose(2, 3));
//
// Masks are Tensor<uint8_t> (1 = may attend), not bool, so that elements have
// addresses.
#ifndef SOFTLOOKUP_BASE_TENSOR_TENSOR_H_
#define SOFTLOOKUP_BASE_TENSOR_TENSOR_H_

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/tensor/shape.h"
#include "base/tensor/strided_view.h"

namespace softlookup {

template <typename T>
class Tensor {
 public:
  Tensor() = default;
  // Zeros. The shape must be valid and fit in memory: callers check shapes
  // that come from input first.
  explicit Tensor(Shape shape)
      : shape_(std::move(shape)), elements_(CheckedCount(shape_)) {}
  // Elements in row-major order.
  Tensor(Shape shape, std::vector<T> elements)
      : shape_(std::move(shape)), elements_(std::move(elements)) {
    SOFTLOOKUP_CHECK(CheckedCount(shape_) == elements_.size(),
                     "one element per position of the shape");
  }

  const Shape& shape() const { return shape_; }
  int64_t dim(int axis) const { return shape_[axis]; }
  int64_t size() const { return static_cast<int64_t>(elements_.size()); }
  T* data() { return elements_.data(); }
  const T* data() const { return elements_.data(); }
  T& operator[](int64_t flat_index) { return elements_[flat_index]; }
  const T& operator[](int64_t flat_index) const {
    return elements_[flat_index];
  }
  std::vector<T>& elements() { return elements_; }
  const std::vector<T>& elements() const { return elements_; }

  StridedView<T> view() { return {data(), shape_}; }
  StridedView<const T> view() const { return {data(), shape_}; }

  template <typename... Index>
  T& operator()(Index... indices) {
    return elements_[Offset(indices...)];
  }
  template <typename... Index>
  const T& operator()(Index... indices) const {
    return elements_[Offset(indices...)];
  }

 private:
  static size_t CheckedCount(const Shape& shape) {
    const std::optional<int64_t> count = NumElements(shape);
    SOFTLOOKUP_CHECK(count.has_value(), "a valid shape");
    return static_cast<size_t>(*count);
  }
  template <typename... Index>
  int64_t Offset(Index... indices) const {
    int64_t offset = 0;
    size_t axis = 0;
    ((offset = offset * shape_[axis++] + static_cast<int64_t>(indices)), ...);
    return offset;
  }

  Shape shape_;
  std::vector<T> elements_;
};

// A contiguous copy of a view's elements.
template <typename T>
Tensor<std::remove_const_t<T>> Copy(const StridedView<T>& view) {
  Tensor<std::remove_const_t<T>> copy(view.shape());
  ForEachElement([](auto& to, const auto& from) { to = from; }, copy.view(),
                 view);
  return copy;
}

}  // namespace softlookup

#endif  // SOFTLOOKUP_BASE_TENSOR_TENSOR_H_
