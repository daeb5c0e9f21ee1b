// Tensors of 16-bit floating-point elements, as bits, from and to float.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(
//       std::vector<uint16_t> query,
//       ToHalf("query", view, Dtype::kBF16, /*allow_minus_infinity=*/false));
//   Tensor<float> output = FromHalf(bits, Dtype::kBF16, {2, 4, 5, 64});
#ifndef SOFTLOOKUP_ATTENTION_CUDNN_HALF_TENSOR_H_
#define SOFTLOOKUP_ATTENTION_CUDNN_HALF_TENSOR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/tensor/dtype.h"
#include "base/tensor/shape.h"
#include "base/tensor/strided_view.h"
#include "base/tensor/tensor.h"

namespace softlookup::cudnn {

// One element, exact or rounded to nearest, ties to even. `dtype` is kBF16 or
// kF16.
float HalfToFloat(uint16_t bits, Dtype dtype);
uint16_t FloatToHalf(float value, Dtype dtype);

// The view's elements rounded to `dtype`, with the view's own strides: element
// i of the result is what `view.data()[i]` would be, and 0 where the view has
// no element. InvalidArgument, naming the first element, for one that is not
// finite in `dtype`; with allow_minus_infinity -inf is fine.
absl::StatusOr<std::vector<uint16_t>> ToHalf(
    const std::string& name, const StridedView<const float>& view, Dtype dtype,
    bool allow_minus_infinity);

// A contiguous tensor of this shape from its bits.
Tensor<float> FromHalf(const std::vector<uint16_t>& bits, Dtype dtype,
                       const Shape& shape);

}  // namespace softlookup::cudnn

#endif  // SOFTLOOKUP_ATTENTION_CUDNN_HALF_TENSOR_H_
