#include "experiments/masking/fused.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "attention/attention.h"
#include "attention/mask.h"
#include "attention/softmax.h"
#include "attention/testing/attention_problem.h"
#include "attention/textbook/boolean_mask.h"
#include "attention/textbook/hand_attention.h"
#include "attention/textbook/streaming_attention.h"
#include "base/elementary.h"
#include "base/random/random.h"
#include "base/status.h"
#include "base/tensor/deviation.h"
#include "base/tensor/tensor.h"

namespace softlookup {
namespace {

// Half an ulp of 1: the largest relative error of one rounding.
template <typename T>
constexpr double Unit() {
  return std::numeric_limits<T>::epsilon() / 2.0;
}

template <typename T>
absl::StatusOr<Json> MeasureFusedAs(const AttentionProblem<T>& problem,
                                    const std::vector<int64_t>& lengths) {
  const int64_t positions = problem.query.dim(2);
  AttentionInputs<T> inputs = problem.inputs();
  const Tensor<T> scores = HandScores<T>(inputs.query, inputs.key);
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const BooleanMask mask,
      LogicalAnd(CausalMask(positions),
                 OverHeadsAndQueries(
                     RealPositions(lengths, positions, PaddingSide::kRight))));
  const Tensor<T> weights = HandSoftmax(
      MaskedFill(scores, mask, -std::numeric_limits<T>::infinity()));
  const Tensor<T> by_hand =
      BatchedProduct<T>(weights.view(), problem.inputs().value);

  inputs.mask.causal = CausalAlignment::kTopLeft;
  inputs.mask.key_lengths = lengths;
  const double bound =
      StreamingErrorBound(LargestMagnitude(scores), positions,
                          LargestMagnitude(problem.value), Unit<T>());
  Json fused;
  fused["largest_score"] = LargestMagnitude(scores);
  fused["largest_value"] = LargestMagnitude(problem.value);
  fused["bound"] = bound;
  double largest = 0;
  Json tiles = Json::array();
  for (const int64_t keys : {int64_t{1}, int64_t{2}, positions}) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        const StreamingOutputs<T> streamed,
        StreamingAttention(inputs, {.query_tile = 1, .key_tile = keys}));
    const double difference = LargestDifference(streamed.output, by_hand);
    largest = LargerOrNaN(largest, difference);
    tiles.push_back({{"keys_per_tile", keys}, {"difference", difference}});
  }
  fused["tiles"] = std::move(tiles);
  fused["largest_difference"] = largest;
  fused["difference_over_bound"] = largest / bound;
  return fused;
}

// Weights of four keys whose scores are `score` and up to 3 less, by one of
// two softmaxes.
template <typename T>
std::vector<T> FourWeights(T score, bool subtract_maximum) {
  const std::vector<T> scores = {score, score - 1, score - 2, score - 3};
  return subtract_maximum ? Softmax<T>(scores)
                          : SoftmaxWithoutMaximum<T>(scores);
}

template <typename T>
int64_t CountNotFinite(const std::vector<T>& numbers) {
  return std::count_if(numbers.begin(), numbers.end(),
                       [](T x) { return !std::isfinite(x); });
}

// The largest score whose exponential is finite, by bisection.
template <typename T>
T LargestScoreWithFiniteExponential() {
  T finite = 0;
  T infinite = 1000;
  for (;;) {
    const T middle = finite + (infinite - finite) / 2;
    if (middle == finite || middle == infinite) return finite;
    (std::isfinite(Exp(middle)) ? finite : infinite) = middle;
  }
}

template <typename T>
Json MeasureSafetyAs(uint64_t seed) {
  // Small scores on a grid of 2^-10, so that subtracting one from another is
  // exact in float too.
  RandomStream stream(seed, "small scores");
  constexpr int kKeys = 16;
  std::vector<T> scores;
  for (int j = 0; j < kKeys; ++j) {
    scores.push_back(static_cast<T>(std::floor(stream.Gaussian() * 1024)) /
                     T(1024));
  }
  const std::vector<T> with = Softmax<T>(scores);
  const std::vector<T> without = SoftmaxWithoutMaximum<T>(scores);
  const T maximum = *std::max_element(scores.begin(), scores.end());
  double largest = 0;
  double largest_argument = -HUGE_VAL;
  for (int j = 0; j < kKeys; ++j) {
    const double relative =
        std::abs(static_cast<double>(with[j]) - without[j]) / with[j];
    largest = LargerOrNaN(largest, relative);
    largest_argument =
        std::max(largest_argument, static_cast<double>(scores[j] - maximum));
  }
  Json safety;
  safety["largest_relative_difference"] = largest;
  // Each weight: exp within 1 ulp (2 units), a sum of 16 such terms (2 + 15),
  // a quotient: 20 units, on both sides.
  safety["relative_difference_bound"] = 2 * (kKeys + 4) * Unit<T>() * 1.01;
  safety["difference_over_bound"] =
      largest / safety["relative_difference_bound"].get<double>();
  safety["largest_argument_with_subtraction"] = largest_argument;
  safety["largest_argument_without"] = static_cast<double>(maximum);
  safety["largest_score_with_finite_exponential"] =
      static_cast<double>(LargestScoreWithFiniteExponential<T>());

  Json sweep = Json::array();
  for (const int score : {1, 10, 50, 80, 88, 89, 100, 500, 709, 710, 1000}) {
    const std::vector<T> plain = FourWeights<T>(static_cast<T>(score), false);
    const std::vector<T> stable = FourWeights<T>(static_cast<T>(score), true);
    sweep.push_back({{"score", score},
                     {"weights_not_finite_without", CountNotFinite(plain)},
                     {"weights_not_finite_with", CountNotFinite(stable)},
                     {"first_weight_with", static_cast<double>(stable[0])}});
  }
  safety["at_1000"] = sweep.back();
  safety["scores"] = std::move(sweep);
  return safety;
}

}  // namespace

absl::StatusOr<Json> MeasureFusedAgainstHand(uint64_t seed, const Shape& shape,
                                             int64_t short_length) {
  const AttentionProblem<double> problem = DrawProblem(seed, shape);
  const std::vector<int64_t> lengths = {shape[2], short_length};
  Json fused;
  SOFTLOOKUP_ASSIGN_OR_RETURN(fused["float64"],
                              MeasureFusedAs<double>(problem, lengths));
  SOFTLOOKUP_ASSIGN_OR_RETURN(fused["float32"],
                              MeasureFusedAs<float>(ToFloat(problem), lengths));
  return fused;
}

absl::StatusOr<Json> MeasureSkippedWork(uint64_t seed, int64_t positions) {
  const AttentionProblem<double> problem =
      DrawProblem(seed, {1, 1, positions, 4});
  AttentionInputs<double> inputs = problem.inputs();
  const double all =
      static_cast<double>(positions) * static_cast<double>(positions);
  Json sweep = Json::array();
  for (int64_t tile = 1; tile <= positions; tile *= 2) {
    Json entry;
    entry["tile"] = tile;
    entry["tiles_per_side"] = (positions + tile - 1) / tile;
    for (const bool causal : {true, false}) {
      inputs.mask.causal =
          causal ? CausalAlignment::kTopLeft : CausalAlignment::kNone;
      SOFTLOOKUP_ASSIGN_OR_RETURN(
          const StreamingOutputs<double> streamed,
          StreamingAttention(inputs, {.query_tile = tile, .key_tile = tile}));
      const double computed = static_cast<double>(streamed.scores_computed);
      const std::string suffix = causal ? "" : "_without_mask";
      entry["scores_computed" + suffix] = streamed.scores_computed;
      entry["share_skipped" + suffix] = (all - computed) / all;
    }
    sweep.push_back(std::move(entry));
  }
  Json skipped;
  skipped["positions"] = positions;
  skipped["finest"] = sweep.front();
  skipped["finest"]["deviation_from_half"] =
      std::abs(sweep.front()["share_skipped"].get<double>() - 0.5);
  skipped["tiles"] = std::move(sweep);
  return skipped;
}

Json MeasureNumericalSafety(uint64_t seed) {
  Json safety;
  safety["float64"] = MeasureSafetyAs<double>(seed);
  safety["float32"] = MeasureSafetyAs<float>(seed);
  return safety;
}

}  // namespace softlookup
