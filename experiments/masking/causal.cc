#include "experiments/masking/causal.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "attention/attention.h"
#include "attention/mask.h"
#include "attention/reference/attention_reference.h"
#include "attention/testing/attention_problem.h"
#include "attention/textbook/boolean_mask.h"
#include "attention/textbook/hand_attention.h"
#include "base/random/random.h"
#include "base/status.h"
#include "base/tensor/deviation.h"
#include "base/tensor/tensor.h"
#include "experiments/masking/token_loss.h"

namespace softlookup {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

BooleanMask Inverted(BooleanMask mask) {
  for (uint8_t& entry : mask.elements()) entry = entry == 0;
  return mask;
}

// The largest |x| over the pairs of a [B, H, T, T] tensor that a [T, T] mask
// forbids.
double LargestForbidden(const Tensor<double>& pairs, const BooleanMask& mask) {
  return LargestMagnitude(MaskedFill(pairs, Inverted(mask), 0.0));
}

Tensor<double> DrawOutputGradient(uint64_t seed, const Shape& shape) {
  Tensor<double> gradient(shape);
  RandomStream(seed, "output gradient")
      .FillGaussian(absl::MakeSpan(gradient.elements()));
  return gradient;
}

// The largest gradient of outputs before position j with respect to the keys
// and values from j on, over all j: what flows back from the past.
absl::StatusOr<double> LargestGradientFromThePast(
    const AttentionProblem<double>& problem, CausalAlignment causal,
    const Tensor<double>& output_gradient) {
  const int64_t positions = problem.query.dim(2);
  AttentionInputs<double> inputs = problem.inputs();
  inputs.mask.causal = causal;
  double largest = 0;
  for (int64_t j = 1; j < positions; ++j) {
    Tensor<double> past = output_gradient;
    ForEachElement([](double& element) { element = 0; },
                   past.view().Slice(2, j, positions));
    SOFTLOOKUP_ASSIGN_OR_RETURN(const AttentionGradients<double> gradients,
                                reference::AttentionBackward<double>(
                                    inputs, {}, std::as_const(past).view()));
    for (const Tensor<double>* gradient : {&gradients.key, &gradients.value}) {
      largest = LargerOrNaN(
          largest,
          LargestMagnitude(Copy(gradient->view().Slice(2, j, positions))));
    }
  }
  return largest;
}

absl::StatusOr<Tensor<double>> ReferenceWeights(
    const AttentionInputs<double>& inputs) {
  AttentionOptions options;
  options.weights = true;
  SOFTLOOKUP_ASSIGN_OR_RETURN(AttentionOutputs<double> outputs,
                              reference::AttentionForward(inputs, options));
  return *std::move(outputs.weights);
}

template <typename T>
absl::StatusOr<Json> MeasureFormsAs(const AttentionProblem<T>& problem) {
  const BooleanMask causal = CausalMask(problem.query.dim(2));
  const BooleanMask broadcast({1, 1, causal.dim(0), causal.dim(1)},
                              causal.elements());
  const T minus_infinity = -std::numeric_limits<T>::infinity();
  const T lowest = std::numeric_limits<T>::lowest();
  const Tensor<T> scores =
      HandScores<T>(problem.inputs().query, problem.inputs().key);
  const auto output = [&problem](const Tensor<T>& masked) {
    const Tensor<T> weights = HandSoftmax(masked);
    return BatchedProduct<T>(weights.view(), problem.inputs().value);
  };
  const Tensor<T> boolean = output(MaskedFill(scores, causal, minus_infinity));
  const auto difference = [&](T forbidden) {
    return LargestDifference(
        boolean, output(AddMask(scores, AdditiveMask<T>(causal, forbidden))));
  };
  Json forms;
  forms["boolean_against_added_minus_infinity"] = difference(minus_infinity);
  forms["boolean_against_added_lowest_finite"] = difference(lowest);
  forms["boolean_against_added_minus_one"] = difference(T(-1));
  forms["lowest_finite"] = static_cast<double>(lowest);

  // The same through the reference: flag, boolean mask, additive bias.
  AttentionInputs<T> flag = problem.inputs();
  flag.mask.causal = CausalAlignment::kTopLeft;
  AttentionInputs<T> mask = problem.inputs();
  mask.mask.allowed = broadcast.view();
  const Tensor<T> additive = AdditiveMask<T>(broadcast, minus_infinity);
  AttentionInputs<T> bias = problem.inputs();
  bias.bias = additive.view();
  SOFTLOOKUP_ASSIGN_OR_RETURN(const AttentionOutputs<T> by_flag,
                              reference::AttentionForward(flag, {}));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const AttentionOutputs<T> by_mask,
                              reference::AttentionForward(mask, {}));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const AttentionOutputs<T> by_bias,
                              reference::AttentionForward(bias, {}));
  forms["flag_against_boolean"] =
      LargestDifference(by_flag.output, by_mask.output);
  forms["boolean_against_bias_in_the_operator"] =
      LargestDifference(by_mask.output, by_bias.output);
  return forms;
}

// Pairs whose weight is positive where `mask` is 0, or zero where it is 1, when
// the operator is given `given` as its boolean mask.
absl::StatusOr<int64_t> CountMismatches(const AttentionProblem<double>& problem,
                                        const BooleanMask& mask,
                                        const BooleanMask& given) {
  AttentionInputs<double> inputs = problem.inputs();
  inputs.mask.allowed = given.view();
  SOFTLOOKUP_ASSIGN_OR_RETURN(const Tensor<double> weights,
                              ReferenceWeights(inputs));
  int64_t mismatches = 0;
  ForEachElement(
      [&mismatches](double weight, uint8_t allowed) {
        mismatches += (weight > 0) != (allowed != 0);
      },
      weights.view(), mask.view().BroadcastTo(weights.shape()).value());
  return mismatches;
}

// A two-layer attention-only model: the residual stream, [1, H, T, D], is
// query, key and value at once, and the logits are its products with the
// embedding.
struct PrefixModel {
  Tensor<double> embedding;  // [V, H D]
  int64_t heads;
  CausalAlignment causal;

  // Logits, [T, V], for T tokens.
  absl::StatusOr<Tensor<double>> Logits(
      absl::Span<const int64_t> tokens) const {
    const int64_t positions = static_cast<int64_t>(tokens.size());
    const int64_t vocabulary = embedding.dim(0);
    const int64_t width = embedding.dim(1);
    Tensor<double> rows({1, positions, width});
    for (int64_t t = 0; t < positions; ++t) {
      for (int64_t c = 0; c < width; ++c) {
        rows(0, t, c) = embedding(tokens[t], c);
      }
    }
    Tensor<double> stream =
        Copy(rows.view().SplitAxis(2, {heads, width / heads}).Transpose(1, 2));
    for (int layer = 0; layer < 2; ++layer) {
      const Tensor<double> read = stream;
      AttentionInputs<double> inputs;
      inputs.query = inputs.key = inputs.value = read.view();
      inputs.mask.causal = causal;
      SOFTLOOKUP_ASSIGN_OR_RETURN(const AttentionOutputs<double> write,
                                  reference::AttentionForward(inputs, {}));
      for (int64_t n = 0; n < stream.size(); ++n) stream[n] += write.output[n];
    }
    const Tensor<double> merged = Copy(stream.view().Transpose(1, 2));
    const StridedView<const double> final_rows(merged.data(),
                                               {1, 1, positions, width});
    const StridedView<const double> unembedding(embedding.data(),
                                                {1, 1, vocabulary, width});
    Tensor<double> logits =
        BatchedProduct<double>(final_rows, unembedding.Transpose(2, 3));
    return Tensor<double>({positions, vocabulary},
                          std::move(logits.elements()));
  }
};

// One pass against T passes over the prefixes of `tokens`, whose last entry is
// a target only.
absl::StatusOr<Json> ComparePrefixes(const PrefixModel& model,
                                     const std::vector<int64_t>& tokens) {
  const int64_t positions = static_cast<int64_t>(tokens.size()) - 1;
  const absl::Span<const int64_t> all(tokens);
  SOFTLOOKUP_ASSIGN_OR_RETURN(const Tensor<double> one_pass,
                              model.Logits(all.first(positions)));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const TokenLoss loss,
      CrossEntropy(one_pass, all.last(positions), kIgnoreIndex));
  Json losses = Json::array();
  Json separate_losses = Json::array();
  double largest_difference = 0;
  double separate_mean = 0;
  int64_t agreeing = 0;
  for (int64_t t = 0; t < positions; ++t) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(const Tensor<double> prefix,
                                model.Logits(all.first(t + 1)));
    const Tensor<double> last_row = Copy(prefix.view().Slice(0, t, t + 1));
    const double difference =
        LargestDifference(last_row, Copy(one_pass.view().Slice(0, t, t + 1)));
    largest_difference = LargerOrNaN(largest_difference, difference);
    agreeing += difference == 0;
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        const TokenLoss separate,
        CrossEntropy(last_row, {tokens[t + 1]}, kIgnoreIndex));
    losses.push_back(loss.losses[t]);
    separate_losses.push_back(separate.mean);
    separate_mean += separate.mean;
  }
  Json comparison;
  comparison["predictions_with_a_loss"] = loss.counted;
  comparison["predictions_that_equal_their_prefixes"] = agreeing;
  comparison["largest_logit_difference"] = largest_difference;
  comparison["losses_of_one_pass"] = std::move(losses);
  comparison["losses_of_separate_passes"] = std::move(separate_losses);
  comparison["mean_loss_difference"] =
      std::abs(loss.mean - separate_mean / static_cast<double>(positions));
  return comparison;
}

// The largest change of logits up to position t when every token after t is
// replaced by another one, over all t.
absl::StatusOr<double> LargestChangeFromLaterTokens(
    const PrefixModel& model, const std::vector<int64_t>& tokens) {
  const int64_t vocabulary = model.embedding.dim(0);
  SOFTLOOKUP_ASSIGN_OR_RETURN(const Tensor<double> before,
                              model.Logits(tokens));
  double largest = 0;
  for (size_t t = 0; t + 1 < tokens.size(); ++t) {
    std::vector<int64_t> changed = tokens;
    for (size_t later = t + 1; later < tokens.size(); ++later) {
      changed[later] = (changed[later] + 1) % vocabulary;
    }
    SOFTLOOKUP_ASSIGN_OR_RETURN(const Tensor<double> after,
                                model.Logits(changed));
    const int64_t end = static_cast<int64_t>(t) + 1;
    largest = LargerOrNaN(
        largest, LargestDifference(Copy(before.view().Slice(0, 0, end)),
                                   Copy(after.view().Slice(0, 0, end))));
  }
  return largest;
}

}  // namespace

Json MeasureCounts(int64_t largest_positions) {
  AttentionMask mask;
  mask.causal = CausalAlignment::kTopLeft;
  Json positions = Json::array();
  Json masked_entries = Json::array();
  int64_t masked_deviation = 0;
  int64_t kept_deviation = 0;
  for (int64_t size = 1; size <= largest_positions; ++size) {
    const AttentionSizes sizes = {.batch = 1,
                                  .query_heads = 1,
                                  .key_heads = 1,
                                  .queries = size,
                                  .keys = size,
                                  .width = 1,
                                  .value_width = 1};
    int64_t masked = 0;
    for (int64_t i = 0; i < size; ++i) {
      int64_t kept = 0;
      for (int64_t j = 0; j < size; ++j) kept += mask.Allows(0, 0, i, j, sizes);
      masked += size - kept;
      // The chapter counts rows from 1.
      kept_deviation = std::max(kept_deviation, std::abs(kept - (i + 1)));
    }
    masked_deviation =
        std::max(masked_deviation, std::abs(masked - size * (size - 1) / 2));
    positions.push_back(size);
    masked_entries.push_back(masked);
  }
  Json counts;
  counts["largest_deviation_of_masked_from_formula"] = masked_deviation;
  counts["largest_deviation_of_kept_from_row_number"] = kept_deviation;
  counts["positions"] = std::move(positions);
  counts["masked_entries"] = std::move(masked_entries);
  return counts;
}

absl::StatusOr<Json> MeasureFuture(uint64_t seed, const Shape& shape) {
  const AttentionProblem<double> problem = DrawProblem(seed, shape);
  const Tensor<double> output_gradient = DrawOutputGradient(seed, shape);
  const AttentionInputs<double> inputs = problem.inputs();
  const BooleanMask causal = CausalMask(shape[2]);
  const Tensor<double> scores = HandScores<double>(inputs.query, inputs.key);
  const auto measure = [&](const Tensor<double>& masked_scores) {
    const Tensor<double> weights = HandSoftmax(masked_scores);
    const Tensor<double> gradient =
        HandScoreGradient<double>(weights, inputs.value, output_gradient);
    return Json{{"largest_weight", LargestForbidden(weights, causal)},
                {"largest_score_gradient", LargestForbidden(gradient, causal)}};
  };
  Json future;
  future["masked"] = measure(MaskedFill(scores, causal, -kInfinity));
  future["unmasked"] = measure(scores);
  // Finite numbers added to the future scores instead of a mask.
  Json penalties = Json::array();
  for (const double penalty :
       {-1.0, -2.0, -5.0, -10.0, -20.0, -50.0, -100.0, -200.0, -500.0}) {
    Json entry =
        measure(AddMask<double>(scores, AdditiveMask<double>(causal, penalty)));
    entry["penalty"] = penalty;
    if (penalty == -20.0) future["penalty_of_20"] = entry;
    penalties.push_back(std::move(entry));
  }
  future["penalties"] = std::move(penalties);

  // The operator itself, forward and backward.
  AttentionInputs<double> masked = inputs;
  masked.mask.causal = CausalAlignment::kTopLeft;
  const Tensor<double> no_bias({1, 1, shape[2], shape[2]});
  masked.bias = no_bias.view();
  SOFTLOOKUP_ASSIGN_OR_RETURN(const Tensor<double> weights,
                              ReferenceWeights(masked));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const AttentionGradients<double> gradients,
      reference::AttentionBackward<double>(masked, {}, output_gradient.view()));
  future["operator"]["largest_weight"] = LargestForbidden(weights, causal);
  future["operator"]["largest_score_gradient"] =
      LargestForbidden(*gradients.bias, causal);
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      future["operator"]["largest_key_or_value_gradient_from_the_past"],
      LargestGradientFromThePast(problem, CausalAlignment::kTopLeft,
                                 output_gradient));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      future["unmasked"]["largest_key_or_value_gradient_from_the_past"],
      LargestGradientFromThePast(problem, CausalAlignment::kNone,
                                 output_gradient));
  return future;
}

absl::StatusOr<Json> MeasureForms(uint64_t seed, const Shape& shape) {
  const AttentionProblem<double> problem = DrawProblem(seed, shape);
  Json forms;
  SOFTLOOKUP_ASSIGN_OR_RETURN(forms["float64"],
                              MeasureFormsAs<double>(problem));
  SOFTLOOKUP_ASSIGN_OR_RETURN(forms["float32"],
                              MeasureFormsAs<float>(ToFloat(problem)));
  const BooleanMask causal({1, 1, shape[2], shape[2]},
                           CausalMask(shape[2]).elements());
  SOFTLOOKUP_ASSIGN_OR_RETURN(forms["pairs_that_break_true_means_attend"],
                              CountMismatches(problem, causal, causal));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      forms["pairs_that_break_it_with_the_mask_inverted"],
      CountMismatches(problem, causal, Inverted(causal)));
  return forms;
}

absl::StatusOr<Json> MeasurePrefixes(uint64_t seed, const Shape& shape) {
  constexpr int64_t kVocabulary = 13;
  const int64_t positions = shape[2];
  PrefixModel model = {
      .embedding = Tensor<double>({kVocabulary, shape[1] * shape[3]}),
      .heads = shape[1],
      .causal = CausalAlignment::kTopLeft};
  RandomStream embedding_stream(seed, "embedding");
  // Of norm about 1, so that no softmax saturates.
  const double scale =
      1 / std::sqrt(static_cast<double>(model.embedding.dim(1)));
  for (double& entry : model.embedding.elements()) {
    entry = embedding_stream.Gaussian() * scale;
  }
  RandomStream token_stream(seed, "tokens");
  std::vector<int64_t> tokens;
  for (int64_t t = 0; t <= positions; ++t) {
    tokens.push_back(token_stream.UniformInt(kVocabulary));
  }
  Json prefixes;
  prefixes["positions"] = positions;
  prefixes["passes"] = {{"together", 1}, {"separate", positions}};
  SOFTLOOKUP_ASSIGN_OR_RETURN(prefixes["causal"],
                              ComparePrefixes(model, tokens));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      prefixes["causal"]["largest_change_from_later_tokens"],
      LargestChangeFromLaterTokens(model, tokens));
  model.causal = CausalAlignment::kNone;
  SOFTLOOKUP_ASSIGN_OR_RETURN(prefixes["unmasked"],
                              ComparePrefixes(model, tokens));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      prefixes["unmasked"]["largest_change_from_later_tokens"],
      LargestChangeFromLaterTokens(model, tokens));
  return prefixes;
}

}  // namespace softlookup
