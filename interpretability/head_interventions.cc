#include "interpretability/head_interventions.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/statistics/estimate.h"
#include "base/status.h"
#include "base/tensor/deviation.h"
#include "base/tensor/matrix.h"
#include "base/tensor/shape.h"
#include "base/tensor/strided_view.h"
#include "interpretability/head_scores.h"
#include "interpretability/weight_matrices.h"
#include "model/ablation.h"

namespace softlookup {
namespace {

std::vector<double> Differences(const std::vector<double>& a,
                                const std::vector<double>& b) {
  std::vector<double> differences(a.size());
  std::transform(a.begin(), a.end(), b.begin(), differences.begin(),
                 [](double x, double y) { return x - y; });
  return differences;
}

Tensor<double> Plus(Tensor<double> a, const Tensor<double>& b) {
  for (int64_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

// The matrix of sequence b and head h of hook_pattern.
Tensor<double> PatternOf(const Tensor<double>& pattern, int64_t b, int64_t h) {
  const int64_t positions = pattern.dim(2);
  return Copy(StridedView<const double>(&pattern(b, h, 0, 0),
                                        Shape{positions, positions}));
}

}  // namespace

Json HeadNameJson(const HeadName& name) {
  return {{"layer", name.layer}, {"head", name.head}};
}

HeadPair ChooseHeads(const Json& single_heads, int64_t layers) {
  const auto costliest = [&](int64_t first, int64_t end) {
    HeadName chosen;
    double most = -INFINITY;
    for (const Json& head : single_heads) {
      const HeadName name = {head["layer"].get<int64_t>(),
                             head["head"].get<int64_t>()};
      if (name.layer < first || name.layer >= end) continue;
      const double cost = head["zero"]["loss_increase"]["value"].get<double>();
      if (cost <= most) continue;
      most = cost;
      chosen = name;
    }
    return chosen;
  };
  HeadPair pair;
  pair.previous_token = costliest(0, layers - 1);
  pair.induction = costliest(pair.previous_token.layer + 1, layers);
  return pair;
}

absl::StatusOr<HeadInterventions> HeadInterventions::Make(
    const Transformer<float>& model, absl::Span<const float> weights,
    const RepeatedSequences& sequences) {
  const int64_t layers = model.config().n_layers;
  SOFTLOOKUP_CHECK(layers >= 2, "a model with two layers or more");
  HeadInterventions made(model, weights, sequences);
  std::set<std::string> points;
  for (int64_t layer = 0; layer < layers; ++layer) {
    points.insert(AttentionPoint(layer, "hook_z"));
    points.insert(AttentionPoint(layer, "hook_pattern"));
  }
  ActivationCache<float> cache(points);
  SOFTLOOKUP_ASSIGN_OR_RETURN(made.clean_, made.Scores(cache));
  for (int64_t layer = 0; layer < layers; ++layer) {
    made.z_.push_back(cache.at(AttentionPoint(layer, "hook_z")));
    made.patterns_.push_back(cache.at(AttentionPoint(layer, "hook_pattern")));
  }
  return made;
}

absl::StatusOr<SequenceScores> HeadInterventions::Scores(
    Hooks<float>& hooks) const {
  return EvaluateSequences(model_, weights_, sequences_, &hooks);
}

Json HeadInterventions::EffectJson(const SequenceScores& scores) const {
  Json effect;
  effect["first_loss"] = EstimateJson(MeanEstimate(scores.first_loss));
  effect["repeat_loss"] = EstimateJson(MeanEstimate(scores.repeat_loss));
  effect["accuracy"] = EstimateJson(MeanEstimate(scores.accuracy));
  effect["loss_increase"] = EstimateJson(
      MeanEstimate(Differences(scores.repeat_loss, clean_.repeat_loss)));
  return effect;
}

absl::StatusOr<Json> HeadInterventions::Effect(Hooks<float>& hooks) const {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const SequenceScores scores, Scores(hooks));
  return EffectJson(scores);
}

absl::StatusOr<Json> HeadInterventions::SingleHeads() const {
  const ModelConfig& config = model_.config();
  Json all = Json::array();
  for (int64_t layer = 0; layer < config.n_layers; ++layer) {
    for (int64_t head = 0; head < config.n_heads; ++head) {
      Json json = HeadNameJson({layer, head});
      Interventions<float> zero;
      ZeroHead(layer, head, zero);
      SOFTLOOKUP_ASSIGN_OR_RETURN(json["zero"], Effect(zero));
      Interventions<float> mean;
      MeanHead(layer, head, z_[layer], mean);
      SOFTLOOKUP_ASSIGN_OR_RETURN(json["mean"], Effect(mean));
      Interventions<float> resample;
      ResampleHead(layer, head, z_[layer], resample);
      SOFTLOOKUP_ASSIGN_OR_RETURN(json["resample"], Effect(resample));
      Interventions<float> frozen;
      for (int64_t i = 0; i < config.n_layers; ++i) {
        FreezePattern(i, patterns_[i], frozen);
      }
      ZeroHead(layer, head, frozen);
      SOFTLOOKUP_ASSIGN_OR_RETURN(json["pattern_preserving"], Effect(frozen));
      all.push_back(std::move(json));
    }
  }
  return all;
}

absl::StatusOr<Json> HeadInterventions::Layers() const {
  const ModelConfig& config = model_.config();
  Json all = Json::array();
  for (int64_t layer = 0; layer < config.n_layers; ++layer) {
    Interventions<float> ablation;
    for (int64_t head = 0; head < config.n_heads; ++head) {
      ZeroHead(layer, head, ablation);
    }
    SOFTLOOKUP_ASSIGN_OR_RETURN(Json json, Effect(ablation));
    json["layer"] = layer;
    all.push_back(std::move(json));
  }
  return all;
}

absl::StatusOr<Json> HeadInterventions::Paths(const HeadPair& pair) const {
  const int64_t layer = pair.induction.layer;
  const std::vector<std::pair<std::string, std::string>> inputs = {
      {"key", "hook_k"}, {"query", "hook_q"}, {"value", "hook_v"}};
  // What the layer computes without the previous-token head.
  Interventions<float> ablation;
  ZeroHead(pair.previous_token.layer, pair.previous_token.head, ablation);
  std::set<std::string> points;
  for (const auto& [name, point] : inputs) {
    points.insert(AttentionPoint(layer, point));
  }
  ActivationCache<float> without(points);
  JoinedHooks<float> read({&ablation, &without});
  SOFTLOOKUP_RETURN_IF_ERROR(Scores(read).status());

  const int64_t positions = sequences_.tokens.dim(1);
  Json paths;
  for (const auto& [name, hook] : inputs) {
    const std::string point = AttentionPoint(layer, hook);
    Interventions<float> edits;
    PatchActivation(point, without.at(point), edits);
    ActivationCache<float> cache({AttentionPoint(layer, "hook_pattern")});
    JoinedHooks<float> patched({&edits, &cache});
    SOFTLOOKUP_ASSIGN_OR_RETURN(paths[name], Effect(patched));
    const Tensor<float>& pattern =
        cache.at(AttentionPoint(layer, "hook_pattern"));
    std::vector<double> matching;
    for (int64_t b = 0; b < pattern.dim(0); ++b) {
      matching.push_back(PrefixMatchingScore(
          StridedView<const float>(&pattern(b, pair.induction.head, 0, 0),
                                   Shape{positions, positions}),
          {&sequences_.tokens(b, 0), static_cast<size_t>(positions)}));
    }
    paths[name]["prefix_matching"] = EstimateJson(MeanEstimate(matching));
  }
  return paths;
}

absl::StatusOr<Json> HeadInterventions::IdealPatterns(
    const HeadPair& pair) const {
  const ModelConfig& config = model_.config();
  const int64_t batch = sequences_.tokens.dim(0);
  const int64_t positions = sequences_.tokens.dim(1);
  // `substitute` puts in a pattern that is `off` tokens off the ideal one.
  const auto compare =
      [&](const std::function<void(int64_t off, Interventions<float>&)>&
              substitute,
          Interventions<float>& zero) -> absl::StatusOr<Json> {
    SOFTLOOKUP_ASSIGN_OR_RETURN(const SequenceScores ablated, Scores(zero));
    const double without = Mean(ablated.repeat_loss);
    const double cost = without - Mean(clean_.repeat_loss);
    Json json;
    json["zero"] = EffectJson(ablated);
    for (const int64_t off : {0, 1}) {
      Interventions<float> pattern;
      substitute(off, pattern);
      SOFTLOOKUP_ASSIGN_OR_RETURN(const SequenceScores with, Scores(pattern));
      json[off == 0 ? "ideal" : "off"] = EffectJson(with);
      json[off == 0 ? "recovered" : "recovered_off"] =
          (without - Mean(with.repeat_loss)) / cost;
    }
    return json;
  };
  Json json;
  const HeadName previous = pair.previous_token;
  Interventions<float> without_previous;
  ZeroHead(previous.layer, previous.head, without_previous);
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      json["previous_token"],
      compare(
          [&](int64_t off, Interventions<float>& edits) {
            SubstitutePattern(previous.layer, previous.head,
                              IdealDistance(batch, positions, 1 + off), edits);
          },
          without_previous));

  const int64_t layer = pair.induction.layer;
  Interventions<float> without_layer;
  for (int64_t head = 0; head < config.n_heads; ++head) {
    ZeroHead(layer, head, without_layer);
  }
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      json["induction"],
      compare(
          [&](int64_t off, Interventions<float>& edits) {
            for (int64_t head = 0; head < config.n_heads; ++head) {
              const Tensor<float> own = Copy(StridedView<const float>(
                  &patterns_[layer](0, head, 0, 0),
                  {{batch, positions, positions},
                   {config.n_heads * positions * positions, positions, 1}}));
              SubstitutePattern(layer, head,
                                IdealCopies(sequences_.tokens, 1 + off, own),
                                edits);
            }
          },
          without_layer));
  return json;
}

Tensor<float> IdealDistance(int64_t batch, int64_t positions,
                            int64_t distance) {
  Tensor<float> pattern({batch, positions, positions});
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t i = 0; i < positions; ++i) {
      pattern(b, i, std::max<int64_t>(0, i - distance)) = 1;
    }
  }
  return pattern;
}

Tensor<float> IdealCopies(const Tensor<int32_t>& tokens, int64_t offset,
                          const Tensor<float>& otherwise) {
  const int64_t positions = tokens.dim(1);
  Tensor<float> pattern = otherwise;
  for (int64_t b = 0; b < tokens.dim(0); ++b) {
    for (int64_t i = 0; i < positions; ++i) {
      // Position j is attended to if its token `offset` before is a copy.
      const auto after_copy = [&](int64_t j) {
        return j - offset >= 0 && j - offset < i && j <= i &&
               tokens(b, j - offset) == tokens(b, i);
      };
      int64_t copies = 0;
      for (int64_t j = 0; j < positions; ++j) copies += after_copy(j) ? 1 : 0;
      if (copies == 0) continue;
      for (int64_t j = 0; j < positions; ++j) {
        pattern(b, i, j) =
            after_copy(j) ? 1.0f / static_cast<float>(copies) : 0.0f;
      }
    }
  }
  return pattern;
}

absl::StatusOr<double> ExpansionDifference(const ModelConfig& config,
                                           absl::Span<const float> weights,
                                           const Tensor<int32_t>& tokens,
                                           int64_t sequences) {
  SOFTLOOKUP_CHECK(config.normalization_type == NormalizationType::kNone &&
                       config.d_mlp == 0,
                   "a model that is linear once its patterns are frozen");
  const Transformer<double> model(config);
  const std::vector<double> parameters(weights.begin(), weights.end());
  const int64_t positions = tokens.dim(1);
  const int64_t batch = std::min(sequences, tokens.dim(0));
  const Tensor<int32_t> first = Copy(tokens.view().Slice(0, 0, batch));
  std::set<std::string> points;
  for (int64_t layer = 0; layer < config.n_layers; ++layer) {
    points.insert(AttentionPoint(layer, "hook_z"));
    points.insert(AttentionPoint(layer, "hook_pattern"));
  }
  ActivationCache<double> cache(points);
  TransformerActivations<double> memory;
  SOFTLOOKUP_RETURN_IF_ERROR(model.Forward(parameters, first, memory, &cache));
  const Tensor<double> clean = memory.logits;
  const WeightMatrices matrices(model.layout(), weights);
  const Tensor<double> unembedding = matrices.Unembedding();

  double largest = 0;
  double difference = 0;
  for (int64_t layer = 0; layer < config.n_layers; ++layer) {
    for (int64_t head = 0; head < config.n_heads; ++head) {
      Interventions<double> frozen;
      for (int64_t i = 0; i < config.n_layers; ++i) {
        FreezePattern(i, cache.at(AttentionPoint(i, "hook_pattern")), frozen);
      }
      ZeroHead(layer, head, frozen);
      SOFTLOOKUP_RETURN_IF_ERROR(
          model.Forward(parameters, first, memory, &frozen));
      const Tensor<double>& z = cache.at(AttentionPoint(layer, "hook_z"));
      for (int64_t b = 0; b < batch; ++b) {
        // The head's write, and what later layers make of it.
        const Tensor<double> output = Copy(StridedView<const double>(
            &z(b, 0, head, 0),
            {{positions, config.d_head}, {config.n_heads * config.d_head, 1}}));
        Tensor<double> terms =
            MatrixProduct(output, matrices.Head(layer, "W_O", head));
        for (int64_t i = layer + 1; i < config.n_layers; ++i) {
          Tensor<double> next = terms;
          for (int64_t h = 0; h < config.n_heads; ++h) {
            next =
                Plus(std::move(next),
                     MatrixProduct(
                         PatternOf(cache.at(AttentionPoint(i, "hook_pattern")),
                                   b, h),
                         MatrixProduct(terms, matrices.OutputValue(i, h))));
          }
          terms = std::move(next);
        }
        const Tensor<double> write = MatrixProduct(terms, unembedding);
        for (int64_t n = 0; n < write.size(); ++n) {
          const int64_t at = b * write.size() + n;
          difference = LargerOrNaN(
              difference, std::abs(memory.logits[at] - (clean[at] - write[n])));
          largest = LargerOrNaN(largest, std::abs(clean[at]));
        }
      }
    }
  }
  return difference / largest;
}

}  // namespace softlookup
