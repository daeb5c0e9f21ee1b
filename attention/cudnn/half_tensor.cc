#include "attention/cudnn/half_tensor.h"

#include <cmath>
#include <limits>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/tensor/half.h"

namespace softlookup::cudnn {
namespace {

std::string TypeName(Dtype dtype) {
  return dtype == Dtype::kBF16 ? "bfloat16" : "float16";
}

// The indices of the view's element of this number, in row-major order.
Shape IndicesOf(int64_t number, const Shape& shape) {
  Shape indices(shape.size());
  for (size_t axis = shape.size(); axis-- > 0;) {
    indices[axis] = number % shape[axis];
    number /= shape[axis];
  }
  return indices;
}

}  // namespace

float HalfToFloat(uint16_t bits, Dtype dtype) {
  return dtype == Dtype::kBF16 ? FloatFromBFloat16(bits) : FloatFromHalf(bits);
}

uint16_t FloatToHalf(float value, Dtype dtype) {
  return dtype == Dtype::kBF16 ? BFloat16FromFloat(value)
                               : HalfFromFloat(value);
}

absl::StatusOr<std::vector<uint16_t>> ToHalf(
    const std::string& name, const StridedView<const float>& view, Dtype dtype,
    bool allow_minus_infinity) {
  constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
  int64_t last = 0;
  for (int axis = 0; axis < view.rank(); ++axis) {
    last += (view.dim(axis) - 1) * view.stride(axis);
  }
  std::vector<uint16_t> bits(last + 1);
  int64_t number = 0;
  std::optional<int64_t> refused;
  float refused_value = 0;
  ForEachElement(
      [&](uint16_t& to, const float& from) {
        to = FloatToHalf(from, dtype);
        const float rounded = HalfToFloat(to, dtype);
        const bool accepted = std::isfinite(rounded) ||
                              (allow_minus_infinity && from == kMinusInfinity);
        if (!accepted && !refused.has_value()) {
          refused = number;
          refused_value = from;
        }
        ++number;
      },
      StridedView<uint16_t>(bits.data(), view.layout()), view);
  if (refused.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, ShapeString(IndicesOf(*refused, view.shape())), " is ",
        refused_value, "; allowed with backend cudnn: numbers finite in ",
        TypeName(dtype), allow_minus_infinity ? ", and -inf" : ""));
  }
  return bits;
}

Tensor<float> FromHalf(const std::vector<uint16_t>& bits, Dtype dtype,
                       const Shape& shape) {
  std::vector<float> elements(bits.size());
  for (size_t i = 0; i < bits.size(); ++i) {
    elements[i] = HalfToFloat(bits[i], dtype);
  }
  return Tensor<float>(shape, std::move(elements));
}

}  // namespace softlookup::cudnn
