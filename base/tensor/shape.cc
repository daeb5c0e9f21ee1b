#include "base/tensor/shape.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace softlookup {

std::string ShapeString(const Shape& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

std::optional<int64_t> NumElements(const Shape& shape) {
  for (const int64_t dimension : shape) {
    if (dimension < 0) return std::nullopt;
  }
  int64_t product = 1;
  for (const int64_t dimension : shape) {
    if (__builtin_mul_overflow(product, dimension, &product)) {
      return std::nullopt;
    }
  }
  return product;
}

Shape ContiguousStrides(const Shape& shape) {
  Shape strides(shape.size());
  int64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  return strides;
}

}  // namespace softlookup
