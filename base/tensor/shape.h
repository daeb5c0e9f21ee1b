// Shapes of tensors, and the alphabet of their dimensions.
//
//   B     batch
//   H     query heads; Hkv: key/value heads (H is a multiple of Hkv)
//   T     positions; Tq: query positions; Tk: key positions
//   D     width of a query or key head (the chapter's d_k)
//   Dv    width of a value head (the chapter's d_v)
//   width d: the model width, the residual stream's
//
//   Shape shape = {2, 8, 5, 32};            // [B, H, T, D]
//   ShapeString(shape)                      // "[2, 8, 5, 32]"
#ifndef SOFTLOOKUP_BASE_TENSOR_SHAPE_H_
#define SOFTLOOKUP_BASE_TENSOR_SHAPE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace softlookup {

using Shape = std::vector<int64_t>;

// "[2, 8, 5, 32]", and "[]" for a scalar.
std::string ShapeString(const Shape& shape);

// The product of the dimensions, 1 for a scalar; nullopt if a dimension is
// negative or the product does not fit in int64_t.
std::optional<int64_t> NumElements(const Shape& shape);

// Strides, in elements, of a row-major contiguous tensor.
Shape ContiguousStrides(const Shape& shape);

}  // namespace softlookup

#endif  // SOFTLOOKUP_BASE_TENSOR_SHAPE_H_
