#include "attention/attention.h"

#include <cmath>
#include <complex>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/elementary.h"
#include "base/named_values.h"
#include "base/status.h"
#include "base/tensor/shape.h"

namespace softlookup {
namespace {

const NamedValues<FullyMasked>& FullyMaskedRules() {
  static const auto& names =
      *new NamedValues<FullyMasked>{{FullyMasked::kZero, "zero"},
                                    {FullyMasked::kNaN, "nan"},
                                    {FullyMasked::kError, "error"}};
  return names;
}

absl::Status CheckRank(absl::string_view name, const Shape& shape,
                       absl::string_view dimensions) {
  bool valid = shape.size() == 4;
  for (const int64_t dimension : shape) valid = valid && dimension >= 1;
  if (valid) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      name, " has shape ", ShapeString(shape), "; allowed: rank 4, ",
      dimensions, ", each dimension at least 1"));
}

absl::Status Disagree(absl::string_view name_a, const Shape& a,
                      absl::string_view name_b, const Shape& b,
                      absl::string_view rule) {
  return absl::InvalidArgumentError(
      absl::StrCat(name_b, " has shape ", ShapeString(b), " and ", name_a, " ",
                   ShapeString(a), "; allowed: ", rule));
}

}  // namespace

absl::StatusOr<FullyMasked> ParseFullyMasked(const std::string& text) {
  return ParseName(FullyMaskedRules(), "fully_masked", text);
}

std::string FullyMaskedName(FullyMasked rule) {
  return NameOf(FullyMaskedRules(), rule);
}

template <typename T>
absl::StatusOr<AttentionSizes> CheckAttention(const AttentionInputs<T>& inputs,
                                              const AttentionOptions& options) {
  const Shape& query = inputs.query.shape();
  const Shape& key = inputs.key.shape();
  const Shape& value = inputs.value.shape();
  SOFTLOOKUP_RETURN_IF_ERROR(CheckRank("query", query, "[B, H, Tq, D]"));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckRank("key", key, "[B, Hkv, Tk, D]"));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckRank("value", value, "[B, Hkv, Tk, Dv]"));
  if (key[0] != query[0]) {
    return Disagree("query", query, "key", key, "the same batch B");
  }
  if (query[1] % key[1] != 0) {
    return Disagree("query", query, "key", key,
                    "H a multiple of Hkv (dimension 1)");
  }
  if (key[3] != query[3]) {
    return Disagree("query", query, "key", key,
                    "the same width D (dimension 3)");
  }
  if (value[0] != key[0]) {
    return Disagree("key", key, "value", value, "the same batch B");
  }
  if (value[1] != key[1]) {
    return Disagree("key", key, "value", value,
                    "the same heads Hkv (dimension 1)");
  }
  if (value[2] != key[2]) {
    return Disagree("key", key, "value", value,
                    "the same key positions Tk (dimension 2)");
  }
  const AttentionSizes sizes = {
      .batch = query[0],
      .query_heads = query[1],
      .key_heads = key[1],
      .queries = query[2],
      .keys = key[2],
      .width = query[3],
      .value_width = value[3],
  };
  if (inputs.bias.has_value() &&
      !inputs.bias->layout().BroadcastTo(sizes.ScoreShape()).ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "bias has shape ", ShapeString(inputs.bias->shape()),
        "; allowed: rank 4, each dimension 1 or that of [B, H, Tq, Tk] = ",
        ShapeString(sizes.ScoreShape())));
  }
  SOFTLOOKUP_RETURN_IF_ERROR(inputs.mask.Check(sizes));
  if (options.scale.has_value() && !std::isfinite(*options.scale)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "scale is ", *options.scale, "; allowed: a finite number"));
  }
  return sizes;
}

absl::Status CheckOutputGradient(const Shape& output_gradient,
                                 const AttentionOptions& options,
                                 const AttentionSizes& sizes) {
  const Shape expected = {sizes.batch, sizes.query_heads, sizes.queries,
                          sizes.value_width};
  if (output_gradient != expected) {
    return absl::InvalidArgumentError(absl::StrCat(
        "output_gradient has shape ", ShapeString(output_gradient),
        "; allowed: the output's, [B, H, Tq, Dv] = ", ShapeString(expected)));
  }
  if (options.fully_masked == FullyMasked::kNaN) {
    return absl::InvalidArgumentError(
        "fully_masked is nan, which has no gradient; allowed with "
        "output_gradient: zero, error");
  }
  return absl::OkStatus();
}

template <typename T>
absl::StatusOr<AttentionSizes> CheckAttentionBackward(
    const AttentionInputs<T>& inputs, const AttentionOptions& options,
    const ConstView<T>& output_gradient) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const AttentionSizes sizes,
                              CheckAttention(inputs, options));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckOutputGradient(output_gradient.shape(), options, sizes));
  return sizes;
}

template <typename T>
bool SeesKey(const AttentionInputs<T>& inputs, const AttentionSizes& sizes,
             int64_t b, int64_t h, int64_t i, int64_t j) {
  using Real = decltype(RealPart(T()));
  return inputs.mask.Allows(b, h, i, j, sizes) &&
         !(inputs.bias.has_value() &&
           RealPart(BroadcastElement(*inputs.bias, b, h, i, j)) ==
               -std::numeric_limits<Real>::infinity());
}

template <typename T>
int64_t CountFullyMaskedRows(const AttentionInputs<T>& inputs,
                             const AttentionSizes& sizes) {
  int64_t rows = 0;
  for (int64_t b = 0; b < sizes.batch; ++b) {
    for (int64_t h = 0; h < sizes.query_heads; ++h) {
      for (int64_t i = 0; i < sizes.queries; ++i) {
        int64_t j = 0;
        while (j < sizes.keys && !SeesKey(inputs, sizes, b, h, i, j)) ++j;
        if (j == sizes.keys) ++rows;
      }
    }
  }
  return rows;
}

absl::Status FullyMaskedRowError(int64_t b, int64_t h, int64_t i) {
  return absl::InvalidArgumentError(absl::StrCat(
      "query row [b = ", b, ", h = ", h, ", i = ", i,
      "] has every key masked; allowed with fully_masked = error: at least "
      "one visible key in every row"));
}

double AttentionScale(const AttentionOptions& options, int64_t width) {
  return options.scale.value_or(1.0 / std::sqrt(static_cast<double>(width)));
}

#define SOFTLOOKUP_INSTANTIATE(T)                                         \
  template absl::StatusOr<AttentionSizes> CheckAttention(                 \
      const AttentionInputs<T>& inputs, const AttentionOptions& options); \
  template absl::StatusOr<AttentionSizes> CheckAttentionBackward(         \
      const AttentionInputs<T>& inputs, const AttentionOptions& options,  \
      const ConstView<T>& output_gradient);                               \
  template bool SeesKey(const AttentionInputs<T>&, const AttentionSizes&, \
                        int64_t, int64_t, int64_t, int64_t);              \
  template int64_t CountFullyMaskedRows(const AttentionInputs<T>&,        \
                                        const AttentionSizes&)
SOFTLOOKUP_INSTANTIATE(float);
SOFTLOOKUP_INSTANTIATE(double);
SOFTLOOKUP_INSTANTIATE(std::complex<double>);
#undef SOFTLOOKUP_INSTANTIATE

}  // namespace softlookup
