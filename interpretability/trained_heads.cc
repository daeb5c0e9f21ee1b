#include "interpretability/trained_heads.h"

#include <set>
#include <string>
#include <utility>

#include "base/status.h"
#include "base/tensor/matrix.h"
#include "base/tensor/shape.h"
#include "base/tensor/strided_view.h"
#include "base/tensor/tensor.h"
#include "interpretability/circuits.h"
#include "interpretability/head_scores.h"
#include "interpretability/weight_matrices.h"
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

// The points at which every layer shows what `name` says.
std::set<std::string> PointsOfLayers(const ModelConfig& config,
                                     const std::string& name) {
  std::set<std::string> points;
  for (int64_t layer = 0; layer < config.n_layers; ++layer) {
    points.insert(AttentionPoint(layer, name));
  }
  return points;
}

absl::Span<const int32_t> TextOf(const Tensor<int32_t>& tokens, int64_t b) {
  return {&tokens(b, 0), static_cast<size_t>(tokens.dim(1))};
}

// Runs the model for what `cache` asks for.
absl::Status Watch(const Transformer<float>& model,
                   absl::Span<const float> weights,
                   const RepeatedSequences& sequences,
                   ActivationCache<float>& cache) {
  TransformerActivations<float> memory;
  return model.Forward(weights, sequences.tokens, memory, &cache);
}

}  // namespace

std::vector<TrainedHead> ScorePatterns(const ModelConfig& config,
                                       const ActivationCache<float>& cache,
                                       const Tensor<int32_t>& tokens) {
  const int64_t batch = tokens.dim(0);
  const int64_t positions = tokens.dim(1);
  std::vector<TrainedHead> heads;
  for (int64_t layer = 0; layer < config.n_layers; ++layer) {
    const Tensor<float>& pattern =
        cache.at(AttentionPoint(layer, "hook_pattern"));
    for (int64_t h = 0; h < config.n_heads; ++h) {
      TrainedHead head;
      head.layer = layer;
      head.head = h;
      head.previous_by_position.resize(positions - 1);
      for (int64_t b = 0; b < batch; ++b) {
        const StridedView<const float> one(&pattern(b, h, 0, 0),
                                           Shape{positions, positions});
        const absl::Span<const int32_t> text = TextOf(tokens, b);
        head.prefix_matching.push_back(PrefixMatchingScore(one, text));
        head.previous_token.push_back(PreviousTokenScore(one));
        head.duplicate_token.push_back(DuplicateTokenScore(one, text));
        const std::vector<double> back = PreviousTokenByPosition(one);
        for (size_t i = 0; i < back.size(); ++i) {
          head.previous_by_position[i] += back[i] / static_cast<double>(batch);
        }
      }
      heads.push_back(std::move(head));
    }
  }
  return heads;
}

absl::StatusOr<std::vector<TrainedHead>> MeasurePatterns(
    const Transformer<float>& model, absl::Span<const float> weights,
    const RepeatedSequences& sequences) {
  ActivationCache<float> cache(PointsOfLayers(model.config(), "hook_pattern"));
  SOFTLOOKUP_RETURN_IF_ERROR(Watch(model, weights, sequences, cache));
  return ScorePatterns(model.config(), cache, sequences.tokens);
}

absl::StatusOr<std::vector<TrainedHead>> MeasureHeads(
    const Transformer<float>& model, absl::Span<const float> weights,
    const RepeatedSequences& sequences) {
  const ModelConfig& config = model.config();
  std::set<std::string> points = PointsOfLayers(config, "hook_pattern");
  points.merge(PointsOfLayers(config, "hook_v"));
  ActivationCache<float> cache(points);
  SOFTLOOKUP_RETURN_IF_ERROR(Watch(model, weights, sequences, cache));
  std::vector<TrainedHead> heads =
      ScorePatterns(config, cache, sequences.tokens);
  const WeightMatrices matrices(model.layout(), weights);
  const Tensor<double> embedding = matrices.Embedding();
  const Tensor<double> unembedding = matrices.Unembedding();
  for (TrainedHead& head : heads) {
    const Tensor<float>& values =
        cache.at(AttentionPoint(head.layer, "hook_v"));
    const Tensor<double> output =
        MatrixProduct(matrices.Head(head.layer, "W_O", head.head), unembedding);
    const int64_t key_head =
        head.head * config.n_key_value_heads / config.n_heads;
    for (int64_t b = 0; b < sequences.tokens.dim(0); ++b) {
      head.copying.push_back(
          CopyingScore(RaisedLogits(values, b, key_head, output),
                       TextOf(sequences.tokens, b)));
    }
    // W_E W_V W_O W_U, [V, V], has the eigenvalues of this and zeros.
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        const CircuitSpectrum spectrum,
        AnalyzeCircuit(MatrixProduct(
            output, MatrixProduct(embedding, matrices.Head(head.layer, "W_V",
                                                           head.head)))));
    head.eigenvalue_copying = EigenvalueCopyingScore(spectrum.eigenvalues);
  }
  return heads;
}

}  // namespace softlookup
