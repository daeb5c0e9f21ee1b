#include "attention/testing/random_attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "base/elementary.h"

namespace softlookup {
namespace {

Tensor<double> Gaussians(RandomStream& stream, Shape shape) {
  Tensor<double> tensor(std::move(shape));
  stream.FillGaussian(absl::MakeSpan(tensor.elements()));
  return tensor;
}

// Each dimension full or, with probability 1/2, 1.
Shape DrawBroadcast(RandomStream& stream, Shape shape) {
  for (int64_t& dimension : shape) {
    if (stream.UniformInt(2) == 0) dimension = 1;
  }
  return shape;
}

std::vector<int64_t> DrawPositions(RandomStream& stream,
                                   const AttentionSizes& sizes) {
  std::vector<int64_t> positions(sizes.batch);
  for (int64_t& position : positions) {
    position = stream.UniformInt(static_cast<uint32_t>(sizes.keys) + 1);
  }
  return positions;
}

// The element of a rank-4 tensor whose dimensions are 1 or full.
template <typename T>
T Broadcasted(const Tensor<T>& tensor, int64_t b, int64_t h, int64_t i,
              int64_t j) {
  return tensor(b % tensor.dim(0), h % tensor.dim(1), i % tensor.dim(2),
                j % tensor.dim(3));
}

}  // namespace

template <typename T>
AttentionInputs<T> AttentionCase<T>::inputs() const {
  AttentionInputs<T> inputs{
      query.view(), key.view(), value.view(), std::nullopt, {}};
  if (bias.has_value()) inputs.bias = bias->view();
  if (allowed.has_value()) inputs.mask.allowed = allowed->view();
  inputs.mask.causal = causal;
  inputs.mask.key_lengths = key_lengths;
  inputs.mask.key_starts = key_starts;
  return inputs;
}

template <typename T>
bool AttentionCase<T>::Visible(int64_t b, int64_t h, int64_t i,
                               int64_t j) const {
  int64_t first = 0;
  int64_t last = sizes.keys - 1;
  if (causal == CausalAlignment::kTopLeft) last = std::min(last, i);
  if (causal == CausalAlignment::kBottomRight) {
    last = std::min(last, last - (sizes.queries - 1 - i));
  }
  if (!key_lengths.empty()) last = std::min(last, key_lengths[b] - 1);
  if (!key_starts.empty()) first = key_starts[b];
  if (j < first || last < j) return false;
  if (allowed.has_value() && Broadcasted(*allowed, b, h, i, j) == 0) {
    return false;
  }
  return !bias.has_value() || RealPart(Broadcasted(*bias, b, h, i, j)) !=
                                  -std::numeric_limits<double>::infinity();
}

template struct AttentionCase<float>;
template struct AttentionCase<double>;
template struct AttentionCase<std::complex<double>>;

AttentionCase<double> DrawAttentionCase(RandomStream& stream,
                                        const AttentionLimits& limits) {
  const auto draw = [&stream](uint32_t limit) -> int64_t {
    return 1 + stream.UniformInt(limit);
  };
  AttentionCase<double> drawn;
  AttentionSizes& sizes = drawn.sizes;
  sizes.batch = draw(limits.batch);
  sizes.key_heads = draw(limits.key_heads);
  sizes.query_heads = sizes.key_heads * draw(limits.group);
  sizes.queries = draw(limits.positions);
  sizes.keys = draw(limits.positions);
  sizes.width = draw(limits.width);
  sizes.value_width = draw(limits.width);
  const auto [b, h, hkv, tq, tk, d, dv] = std::array{
      sizes.batch, sizes.query_heads, sizes.key_heads,  sizes.queries,
      sizes.keys,  sizes.width,       sizes.value_width};
  drawn.query = Gaussians(stream, {b, h, tq, d});
  drawn.key = Gaussians(stream, {b, hkv, tk, d});
  drawn.value = Gaussians(stream, {b, hkv, tk, dv});
  drawn.output_gradient = Gaussians(stream, {b, h, tq, dv});
  // From nearly uniform rows to saturated ones.
  const double spread = std::ldexp(1.0, static_cast<int>(draw(6)) - 4);
  for (double& element : drawn.query.elements()) element *= spread;

  drawn.causal = static_cast<CausalAlignment>(stream.UniformInt(3));
  if (stream.UniformInt(2) == 0) {
    drawn.allowed = Tensor<uint8_t>(DrawBroadcast(stream, {b, h, tq, tk}));
    for (uint8_t& element : drawn.allowed->elements()) {
      element = stream.UniformInt(4) != 0 ? 1 : 0;
    }
  }
  if (stream.UniformInt(3) == 0) {
    drawn.key_lengths = DrawPositions(stream, sizes);
  }
  if (stream.UniformInt(4) == 0) {
    drawn.key_starts = DrawPositions(stream, sizes);
  }
  if (stream.UniformInt(2) == 0) {
    drawn.bias = Gaussians(stream, DrawBroadcast(stream, {b, h, tq, tk}));
    const bool masks = stream.UniformInt(2) == 0;
    for (double& element : drawn.bias->elements()) {
      if (masks && stream.UniformInt(5) == 0) {
        element = -std::numeric_limits<double>::infinity();
      }
    }
  }
  if (stream.UniformInt(3) == 0) {
    drawn.options.scale = 4 * stream.Uniform() - 2;
  }
  return drawn;
}

std::string Describe(const AttentionCase<double>& drawn) {
  std::string text =
      absl::StrCat("query ", ShapeString(drawn.query.shape()), " key ",
                   ShapeString(drawn.key.shape()), " value ",
                   ShapeString(drawn.value.shape()),
                   " causal=", CausalAlignmentName(drawn.causal),
                   " scale=", AttentionScale(drawn.options, drawn.sizes.width));
  if (drawn.allowed.has_value()) {
    absl::StrAppend(&text, " mask ", ShapeString(drawn.allowed->shape()), " {",
                    absl::StrJoin(drawn.allowed->elements(), " "), "}");
  }
  if (drawn.bias.has_value()) {
    absl::StrAppend(&text, " bias ", ShapeString(drawn.bias->shape()), " {",
                    absl::StrJoin(drawn.bias->elements(), " "), "}");
  }
  if (!drawn.key_lengths.empty()) {
    absl::StrAppend(&text, " key_lengths ", ShapeString(drawn.key_lengths));
  }
  if (!drawn.key_starts.empty()) {
    absl::StrAppend(&text, " key_starts ", ShapeString(drawn.key_starts));
  }
  return text;
}

}  // namespace softlookup
