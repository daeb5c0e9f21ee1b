#include "experiments/trained_heads.h"

#include <set>
#include <string>
#include <utility>

#include "attention/circuits.h"
#include "base/shape.h"
#include "base/status.h"
#include "base/strided_view.h"
#include "base/tensor.h"
#include "experiments/head_scores.h"
#include "experiments/matrix.h"
#include "experiments/weight_matrices.h"
#include "model/ablation.h"
#include "model/hooks.h"

namespace softlookup {
namespace {

// What attending to each position of sequence b writes to the logits, [T, V]:
// the head's values times W_O W_U.
Tensor<double> RaisedLogits(const Tensor<float>& values, int64_t b,
                            int64_t key_head, const Tensor<double>& output) {
  const int64_t positions = values.dim(1);
  const int64_t width = values.dim(3);
  Tensor<double> value({positions, width});
  for (int64_t t = 0; t < positions; ++t) {
    for (int64_t k = 0; k < width; ++k) value(t, k) = values(b, t, key_head, k);
  }
  return MatrixProduct(value, output);
}

absl::StatusOr<std::vector<TrainedHead>> Measure(
    const Transformer<float>& model, absl::Span<const float> weights,
    const RepeatedSequences& sequences, bool writes) {
  const ModelConfig& config = model.config();
  std::set<std::string> points;
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    points.insert(AttentionPoint(layer, "hook_pattern"));
    if (writes) points.insert(AttentionPoint(layer, "hook_v"));
  }
  ActivationCache<float> cache(points);
  TransformerActivations<float> memory;
  SOFTLOOKUP_RETURN_IF_ERROR(
      model.Forward(weights, sequences.tokens, memory, &cache));
  const WeightMatrices matrices(model.layout(), weights);
  const Tensor<double> embedding = matrices.Embedding();
  const Tensor<double> unembedding = matrices.Unembedding();
  const int64_t batch = sequences.tokens.dim(0);
  const int64_t positions = sequences.tokens.dim(1);
  const auto text = [&](int64_t b) {
    return absl::Span<const int32_t>(&sequences.tokens(b, 0), positions);
  };

  std::vector<TrainedHead> heads;
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    const Tensor<float>& pattern =
        cache.at(AttentionPoint(layer, "hook_pattern"));
    for (int64_t h = 0; h < config.heads; ++h) {
      TrainedHead head;
      head.layer = layer;
      head.head = h;
      head.previous_by_position.resize(positions - 1);
      for (int64_t b = 0; b < batch; ++b) {
        const StridedView<const float> one(&pattern(b, h, 0, 0),
                                           Shape{positions, positions});
        head.prefix_matching.push_back(PrefixMatchingScore(one, text(b)));
        head.previous_token.push_back(PreviousTokenScore(one));
        head.duplicate_token.push_back(DuplicateTokenScore(one, text(b)));
        const std::vector<double> back = PreviousTokenByPosition(one);
        for (size_t i = 0; i < back.size(); ++i) {
          head.previous_by_position[i] += back[i] / static_cast<double>(batch);
        }
      }
      if (writes) {
        const Tensor<float>& values = cache.at(AttentionPoint(layer, "hook_v"));
        const Tensor<double> output =
            MatrixProduct(matrices.Head(layer, "W_O", h), unembedding);
        const int64_t key_head = h * config.key_heads / config.heads;
        for (int64_t b = 0; b < batch; ++b) {
          head.copying.push_back(
              CopyingScore(RaisedLogits(values, b, key_head, output), text(b)));
        }
        // W_E W_V W_O W_U, [V, V], has the eigenvalues of this and zeros.
        SOFTLOOKUP_ASSIGN_OR_RETURN(
            const CircuitSpectrum spectrum,
            AnalyzeCircuit(MatrixProduct(
                output,
                MatrixProduct(embedding, matrices.Head(layer, "W_V", h)))));
        head.eigenvalue_copying = EigenvalueCopyingScore(spectrum.eigenvalues);
      }
      heads.push_back(std::move(head));
    }
  }
  return heads;
}

}  // namespace

absl::StatusOr<std::vector<TrainedHead>> MeasureHeads(
    const Transformer<float>& model, absl::Span<const float> weights,
    const RepeatedSequences& sequences) {
  return Measure(model, weights, sequences, /*writes=*/true);
}

absl::StatusOr<std::vector<TrainedHead>> MeasurePatterns(
    const Transformer<float>& model, absl::Span<const float> weights,
    const RepeatedSequences& sequences) {
  return Measure(model, weights, sequences, /*writes=*/false);
}

}  // namespace softlookup
