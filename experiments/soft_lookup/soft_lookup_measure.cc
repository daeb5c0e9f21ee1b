#include "experiments/soft_lookup/soft_lookup_measure.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "attention/attention.h"
#include "attention/softmax.h"
#include "attention/testing/gradient_check.h"
#include "base/elementary.h"
#include "base/status.h"
#include "base/tensor/matrix.h"
#include "base/tensor/tensor.h"

namespace softlookup {
namespace {

constexpr double kPi = 3.141592653589793;

double Sum(const std::vector<double>& terms) {
  double sum = 0;
  for (const double term : terms) sum += term;
  return sum;
}

Vector2 WeightedAverage(const std::vector<double>& weights) {
  Vector2 average = {0, 0};
  for (size_t j = 0; j < weights.size(); ++j) {
    for (int c = 0; c < 2; ++c) {
      average[c] += weights[j] * LookupEntries()[j].value[c];
    }
  }
  return average;
}

double LargestFromUniform(const std::vector<double>& weights) {
  double largest = 0;
  for (const double weight : weights) {
    largest = std::max(
        largest,
        std::abs(weight - 1.0 / static_cast<double>(LookupEntries().size())));
  }
  return largest;
}

// Pairs of keys of which the better match does not get the larger weight.
int64_t OrderViolations(const Vector2& query,
                        const std::vector<double>& weights) {
  const std::vector<double> scores = LookupScores(query);
  int64_t violations = 0;
  for (size_t a = 0; a < scores.size(); ++a) {
    for (size_t b = 0; b < scores.size(); ++b) {
      if (scores[a] > scores[b] && !(weights[a] > weights[b])) ++violations;
    }
  }
  return violations;
}

// A query of length sqrt(2) at an angle in radians.
Vector2 QueryAt(double angle) {
  return {std::sqrt(2.0) * Cos(angle), std::sqrt(2.0) * Sin(angle)};
}

// The steps' angles: from -45 to 135 degrees.
double AngleOfStep(int64_t step, int64_t steps) {
  return kPi *
         (static_cast<double>(step) / static_cast<double>(steps - 1) - 0.25);
}

// Whether better matches get larger weights over many queries; with the scores
// turned around they get smaller ones.
absl::StatusOr<Json> MeasureOrder() {
  constexpr int64_t kQueries = 360;
  int64_t violations = 0;
  int64_t reversed_violations = 0;
  for (int64_t n = 0; n < kQueries; ++n) {
    const Vector2 query = QueryAt(AngleOfStep(n, kQueries));
    SOFTLOOKUP_ASSIGN_OR_RETURN(const SoftAnswer answer, SoftLookup(query, 1));
    SOFTLOOKUP_ASSIGN_OR_RETURN(const SoftAnswer reversed,
                                SoftLookup(query, -1));
    violations += OrderViolations(query, answer.weights);
    reversed_violations += OrderViolations(query, reversed.weights);
  }
  return Json{{"queries", kQueries},
              {"violations", violations},
              {"violations_with_reversed_scores", reversed_violations}};
}

// A query between the keys, equal to none.
absl::StatusOr<Json> MeasurePartialMatch() {
  const Vector2 query = {1, 0.5};
  SOFTLOOKUP_ASSIGN_OR_RETURN(const SoftAnswer answer, SoftLookup(query, 1));
  int64_t soft_keys = 0;
  for (const double weight : answer.weights) soft_keys += weight > 0 ? 1 : 0;
  return Json{{"query", query},
              {"hard_keys_found", HardLookup(query).has_value() ? 1 : 0},
              {"soft_keys_with_weight", soft_keys},
              {"weights", answer.weights},
              {"output", answer.output}};
}

Json FactorJson(double factor, const SoftAnswer& answer, const Vector2& hard,
                const Vector2& mean) {
  return {{"factor", factor},
          {"weights", answer.weights},
          {"output", answer.output},
          {"distance_to_hard", LargestGap(answer.output, hard)},
          {"distance_to_mean", LargestGap(answer.output, mean)}};
}

// 0, then from 0.01 up in equal ratios, so that every decade is met exactly.
std::vector<double> Factors(double largest, int64_t per_decade) {
  std::vector<double> factors = {0};
  for (int64_t step = 0;; ++step) {
    const double decade = Pow(10.0, static_cast<double>(step / per_decade) - 2);
    const double within = Pow(10.0, static_cast<double>(step % per_decade) /
                                        static_cast<double>(per_decade));
    const double factor = step % per_decade == 0
                              ? std::round(decade * 100) / 100
                              : decade * within;
    if (factor > largest) return factors;
    factors.push_back(factor);
  }
}

int64_t CountNotFinite(const std::vector<double>& numbers) {
  int64_t count = 0;
  for (const double number : numbers) count += std::isfinite(number) ? 0 : 1;
  return count;
}

// The largest difference of a gradient from central differences of
// output_component(x), x the elements of `at`.
double FromDifferences(const RealFunction& output, const Tensor<double>& at,
                       const Tensor<double>& gradient) {
  // x + h and x - h are exact for the table's entries.
  constexpr double kStep = 0x1p-17;
  const Tensor<double> differences(
      at.shape(), CentralDifferenceGradient(output, at.elements(), kStep));
  return LargestDifference(gradient, differences);
}

}  // namespace

Json DescribeEntries() {
  Json entries = Json::array();
  for (const LookupEntry& entry : LookupEntries()) {
    entries.push_back(
        {{"name", entry.name}, {"key", entry.key}, {"value", entry.value}});
  }
  return entries;
}

Json MeasureHard() {
  const auto found = [](const std::string& name) {
    return HardLookup(name).has_value() ? 1 : 0;
  };
  const std::string hit = "tank";
  Json hard;
  hard["hit"] = {{"query", hit}, {"found", found(hit)}};
  if (const auto value = HardLookup(hit)) hard["hit"]["value"] = *value;
  hard["miss"] = {{"query", "gauge"}, {"found", found("gauge")}};
  const std::vector<std::string> near = {"tan", "tanks", "Tank", "tank ", ""};
  int64_t near_found = 0;
  for (const std::string& name : near) near_found += found(name);
  hard["near_misses"] = {{"queries", near}, {"found", near_found}};
  return hard;
}

absl::StatusOr<Json> MeasureSoft(const Vector2& query) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const SoftAnswer answer, SoftLookup(query, 1));
  Json soft;
  soft["query"] = query;
  soft["scores"] = LookupScores(query);
  for (const double score : LookupScores(query)) {
    soft["scaled_scores"].push_back(score * AttentionScale({}, 2));
  }
  soft["weights"] = answer.weights;
  soft["output"] = answer.output;
  soft["smallest_weight"] =
      *std::min_element(answer.weights.begin(), answer.weights.end());
  // The dictionary gives the best key everything and the others nothing.
  soft["smallest_weight_of_hard_lookup"] = 0;
  soft["weight_sum_deviation"] = std::abs(Sum(answer.weights) - 1);
  soft["output_from_weighted_average"] =
      LargestGap(answer.output, WeightedAverage(answer.weights));
  SOFTLOOKUP_ASSIGN_OR_RETURN(soft["order"], MeasureOrder());
  SOFTLOOKUP_ASSIGN_OR_RETURN(soft["partial_match"], MeasurePartialMatch());
  SOFTLOOKUP_ASSIGN_OR_RETURN(const SoftAnswer equal, SoftLookup({0, 0}, 1));
  soft["equal_scores"] = {
      {"weights", equal.weights},
      {"output", equal.output},
      {"largest_weight_deviation", LargestFromUniform(equal.weights)}};
  return soft;
}

absl::StatusOr<Json> MeasureFactors(const Vector2& query, double largest,
                                    int64_t per_decade) {
  const size_t best = BestKey(query);
  const Vector2& hard = LookupEntries()[best].value;
  const double share = 1.0 / static_cast<double>(LookupEntries().size());
  const Vector2 mean = WeightedAverage({share, share, share});
  Json sweep = Json::array();
  double best_rise = HUGE_VAL;
  double other_rise = HUGE_VAL;
  std::vector<double> before;
  for (const double factor : Factors(largest, per_decade)) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(const SoftAnswer answer,
                                SoftLookup(query, factor));
    sweep.push_back(FactorJson(factor, answer, hard, mean));
    for (size_t j = 0; j < before.size(); ++j) {
      double& rise = j == best ? best_rise : other_rise;
      rise = std::min(rise, answer.weights[j] - before[j]);
    }
    before = answer.weights;
  }
  Json factor;
  for (const auto& [name, value] :
       {std::pair("hundredth", 0.01), std::pair("one", 1.0),
        std::pair("ten", 10.0)}) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(const SoftAnswer answer,
                                SoftLookup(query, value));
    factor[name] = FactorJson(value, answer, hard, mean);
  }
  factor["hard_output"] = hard;
  factor["mean_output"] = mean;
  factor["best_key"] = LookupEntries()[best].name;
  factor["smallest_rise_of_best_weight"] = best_rise;
  factor["smallest_rise_of_another_weight"] = other_rise;
  factor["zero"] = sweep.front();
  for (const Json& weight : sweep.front()["weights"]) {
    factor["zero"]["weight_deviations"].push_back(
        std::abs(weight.get<double>() - share));
  }
  factor["largest"] = sweep.back();
  factor["sweep"] = std::move(sweep);
  return factor;
}

Json MeasureOverflow(const Vector2& query) {
  // exp(710) exceeds the largest double.
  constexpr double kLarge = 2000;
  std::vector<double> scores;
  std::vector<double> large;
  for (const double score : LookupScores(query)) {
    scores.push_back(score * AttentionScale({}, 2));
    large.push_back(kLarge * scores.back());
  }
  const std::vector<double> with = Softmax<double>(scores);
  const std::vector<double> without = SoftmaxWithoutMaximum<double>(scores);
  double change = 0;
  for (size_t j = 0; j < with.size(); ++j) {
    change = std::max(change, std::abs(with[j] - without[j]));
  }
  return {
      {"factor", kLarge},
      {"not_finite_with_subtraction", CountNotFinite(Softmax<double>(large))},
      {"not_finite_without_subtraction",
       CountNotFinite(SoftmaxWithoutMaximum<double>(large))},
      {"change_by_subtraction_at_factor_1", change}};
}

absl::StatusOr<Json> MeasurePath(int64_t steps) {
  // Central differences with this step have a truncation error of about
  // step^2 and a rounding error of about 1e-16 / step: together near 1e-10.
  constexpr double kDifferenceStep = 1e-5;
  Json degrees = Json::array();
  Json hard_outputs = Json::array();
  Json soft_outputs = Json::array();
  int64_t hard_still = 0;
  int64_t soft_still = 0;
  int64_t hard_jumps = 0;
  double smallest_jump = HUGE_VAL;
  double largest_soft_step = 0;
  double smallest_soft_slope = HUGE_VAL;
  double slope_deviation = 0;
  std::optional<Vector2> previous_hard;
  std::optional<Vector2> previous_soft;
  for (int64_t step = 0; step < steps; ++step) {
    const double angle = AngleOfStep(step, steps);
    const Vector2 query = QueryAt(angle);
    const Vector2& hard = LookupEntries()[BestKey(query)].value;
    SOFTLOOKUP_ASSIGN_OR_RETURN(const SoftAnswer soft, SoftLookup(query, 1));
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        const SoftAnswer ahead,
        SoftLookup(QueryAt(angle + kDifferenceStep), 1));
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        const SoftAnswer behind,
        SoftLookup(QueryAt(angle - kDifferenceStep), 1));
    const Vector2 direction = {-query[1], query[0]};  // d(query)/d(angle)
    double slope_size = 0;
    for (int c = 0; c < 2; ++c) {
      const double slope = soft.query_gradients[c](0, 0) * direction[0] +
                           soft.query_gradients[c](0, 1) * direction[1];
      const double difference =
          (ahead.output[c] - behind.output[c]) / (2 * kDifferenceStep);
      slope_deviation = std::max(slope_deviation, std::abs(slope - difference));
      slope_size = std::max(slope_size, std::abs(slope));
    }
    smallest_soft_slope = std::min(smallest_soft_slope, slope_size);
    if (previous_hard.has_value()) {
      const double jump = LargestGap(hard, *previous_hard);
      if (jump == 0) {
        ++hard_still;
      } else {
        ++hard_jumps;
        smallest_jump = std::min(smallest_jump, jump);
      }
      const double soft_step = LargestGap(soft.output, *previous_soft);
      if (soft_step == 0) ++soft_still;
      largest_soft_step = std::max(largest_soft_step, soft_step);
    }
    previous_hard = hard;
    previous_soft = soft.output;
    degrees.push_back(angle * 180 / kPi);
    hard_outputs.push_back(hard);
    soft_outputs.push_back(soft.output);
  }
  Json path;
  path["steps"] = steps - 1;
  path["hard_steps_without_change"] = hard_still;
  path["soft_steps_without_change"] = soft_still;
  path["hard_jumps"] = hard_jumps;
  path["hard_smallest_jump"] = smallest_jump;
  path["soft_largest_step"] = largest_soft_step;
  path["soft_smallest_slope"] = smallest_soft_slope;
  path["soft_slope_against_difference"] = slope_deviation;
  path["degrees"] = std::move(degrees);
  path["hard_outputs"] = std::move(hard_outputs);
  path["soft_outputs"] = std::move(soft_outputs);
  return path;
}

absl::StatusOr<Json> MeasureGradients(const Vector2& query) {
  constexpr double kStep = 1e-6;
  double hard_slope = 0;
  for (int c = 0; c < 2; ++c) {
    Vector2 ahead = query;
    Vector2 behind = query;
    ahead[c] += kStep;
    behind[c] -= kStep;
    hard_slope = std::max(hard_slope,
                          LargestGap(LookupEntries()[BestKey(ahead)].value,
                                     LookupEntries()[BestKey(behind)].value) /
                              (2 * kStep));
  }
  SOFTLOOKUP_ASSIGN_OR_RETURN(const SoftAnswer soft, SoftLookup(query, 1));
  Json gradients;
  gradients["hard_query"] = hard_slope;
  gradients["soft_query"] = LargestMagnitude(soft.query_gradients[1]);
  gradients["soft_keys"] = LargestMagnitude(soft.key_gradients[1]);
  gradients["soft_values"] = LargestMagnitude(soft.value_gradients[1]);
  // As functions of the query, of the keys, of the values.
  const Tensor<double> query_row({1, 2}, {query[0], query[1]});
  double from_query = 0;
  double from_keys = 0;
  double from_values = 0;
  for (int c = 0; c < 2; ++c) {
    const auto matrix = [](absl::Span<const double> x) {
      return Tensor<double>({3, 2}, std::vector<double>(x.begin(), x.end()));
    };
    from_query = std::max(
        from_query, FromDifferences(
                        [c](absl::Span<const double> x) {
                          return SoftLookup({x[0], x[1]}, 1).value().output[c];
                        },
                        query_row, soft.query_gradients[c]));
    from_keys = std::max(from_keys, FromDifferences(
                                        [&](absl::Span<const double> x) {
                                          return SoftLookup(query, matrix(x),
                                                            StackedValues(), 1)
                                              .value()
                                              .output[c];
                                        },
                                        StackedKeys(), soft.key_gradients[c]));
    from_values = std::max(
        from_values, FromDifferences(
                         [&](absl::Span<const double> x) {
                           return SoftLookup(query, StackedKeys(), matrix(x), 1)
                               .value()
                               .output[c];
                         },
                         StackedValues(), soft.value_gradients[c]));
  }
  gradients["query_against_difference"] = from_query;
  gradients["keys_against_difference"] = from_keys;
  gradients["values_against_difference"] = from_values;
  return gradients;
}

}  // namespace softlookup
