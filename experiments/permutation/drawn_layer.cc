#include "experiments/permutation/drawn_layer.h"

#include <cmath>

#include "attention/mask.h"
#include "base/elementary.h"
#include "base/tensor/matrix.h"

namespace softlookup {
namespace {

constexpr int64_t kKeyWidth = 4;    // of queries and keys
constexpr int64_t kValueWidth = 2;  // of values, and so of outputs

}  // namespace

Tensor<double> DrawTokens(RandomStream& stream, int64_t length) {
  return GaussianMatrix(stream, length, kTokenWidth, 1);
}

Layer DrawLayer(RandomStream& stream) {
  const double scale = 1 / std::sqrt(static_cast<double>(kTokenWidth));
  Layer layer;
  layer.query_matrix = GaussianMatrix(stream, kTokenWidth, kKeyWidth, scale);
  layer.key_matrix = GaussianMatrix(stream, kTokenWidth, kKeyWidth, scale);
  layer.value_matrix = GaussianMatrix(stream, kTokenWidth, kValueWidth, scale);
  return layer;
}

Tensor<double> PositionEmbeddings(int64_t positions, int64_t width) {
  Tensor<double> embeddings({positions, width});
  for (int64_t t = 0; t < positions; ++t) {
    for (int64_t c = 0; c < width; ++c) {
      const double exponent =
          static_cast<double>(c - c % 2) / static_cast<double>(width);
      const double angle = static_cast<double>(t) / Pow(10000.0, exponent);
      embeddings(t, c) = c % 2 == 0 ? Sin(angle) : Cos(angle);
    }
  }
  return embeddings;
}

absl::StatusOr<HeadOutputs<double>> Attend(const Layer& layer, Variant variant,
                                           Tensor<double> tokens) {
  if (variant == Variant::kPositions) {
    const Tensor<double> positions =
        PositionEmbeddings(tokens.dim(0), kTokenWidth);
    for (int64_t n = 0; n < tokens.size(); ++n) tokens[n] += positions[n];
  }
  HeadOptions options;
  if (variant == Variant::kCausal) options.causal = CausalAlignment::kTopLeft;
  return HeadForward(MatrixProduct(tokens, layer.query_matrix),
                     MatrixProduct(tokens, layer.key_matrix),
                     MatrixProduct(tokens, layer.value_matrix), options);
}

double ValueSize(const Layer& layer, const Tensor<double>& tokens) {
  return LargestMagnitude(MatrixProduct(tokens, layer.value_matrix));
}

}  // namespace softlookup
