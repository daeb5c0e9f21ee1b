#include "experiments/soft_lookup/lookup_answers.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "attention/attention.h"
#include "attention/softmax.h"
#include "base/elementary.h"
#include "base/status.h"
#include "base/tensor/deviation.h"

namespace softlookup {
namespace {

double Share(const LookupTable& table) {
  return 1.0 / static_cast<double>(table.size());
}

Vector2 WeightedAverage(const LookupTable& table,
                        const std::vector<double>& weights) {
  Vector2 average = {0, 0};
  for (size_t j = 0; j < weights.size(); ++j) {
    for (int c = 0; c < 2; ++c) average[c] += weights[j] * table[j].value[c];
  }
  return average;
}

int64_t OrderViolations(const LookupTable& table, const Vector2& query,
                        const std::vector<double>& weights) {
  const std::vector<double> scores = LookupScores(table, query);
  int64_t violations = 0;
  for (size_t a = 0; a < scores.size(); ++a) {
    for (size_t b = 0; b < scores.size(); ++b) {
      if (scores[a] > scores[b] && !(weights[a] > weights[b])) ++violations;
    }
  }
  return violations;
}

absl::Status MeasureOrder(const LookupTable& table, SoftAnswers& soft) {
  soft.order.queries = 360;
  for (int64_t n = 0; n < soft.order.queries; ++n) {
    const Vector2 query = QueryAt(AngleOfStep(n, soft.order.queries));
    SOFTLOOKUP_ASSIGN_OR_RETURN(const SoftAnswer answer,
                                SoftLookup(table, query, 1));
    SOFTLOOKUP_ASSIGN_OR_RETURN(const SoftAnswer reversed,
                                SoftLookup(table, query, -1));
    soft.order.violations += OrderViolations(table, query, answer.weights);
    soft.order.violations_with_reversed_scores +=
        OrderViolations(table, query, reversed.weights);
  }
  return absl::OkStatus();
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
  return std::count_if(numbers.begin(), numbers.end(),
                       [](double number) { return !std::isfinite(number); });
}

}  // namespace

HardAnswers MeasureHard(const LookupTable& table) {
  const auto found = [&table](const std::string& name) {
    return HardLookup(table, name).has_value() ? 1 : 0;
  };
  HardAnswers hard;
  hard.hit = "tank";
  hard.hit_found = found(hard.hit);
  hard.hit_value = HardLookup(table, hard.hit);
  hard.miss = "gauge";
  hard.miss_found = found(hard.miss);
  hard.near_misses = {"tan", "tanks", "Tank", "tank ", ""};
  for (const std::string& name : hard.near_misses) {
    hard.near_misses_found += found(name);
  }
  return hard;
}

absl::StatusOr<SoftAnswers> MeasureSoft(const LookupTable& table,
                                        const Vector2& query) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const SoftAnswer answer,
                              SoftLookup(table, query, 1));
  SoftAnswers soft;
  soft.query = query;
  soft.scores = LookupScores(table, query);
  for (const double score : soft.scores) {
    soft.scaled_scores.push_back(score * AttentionScale({}, 2));
  }
  soft.weights = answer.weights;
  soft.output = answer.output;
  double sum = 0;
  Smallest smallest;
  for (const double weight : answer.weights) {
    sum += weight;
    smallest.See(weight);
  }
  soft.smallest_weight = smallest.value();
  soft.weight_sum_deviation = std::abs(sum - 1);
  soft.output_from_weighted_average =
      LargestGap(answer.output, WeightedAverage(table, answer.weights));
  SOFTLOOKUP_RETURN_IF_ERROR(MeasureOrder(table, soft));

  auto& partial = soft.partial_match;
  partial.query = {1, 0.5};
  SOFTLOOKUP_ASSIGN_OR_RETURN(const SoftAnswer between,
                              SoftLookup(table, partial.query, 1));
  partial.hard_keys_found =
      HardLookup(table, partial.query).has_value() ? 1 : 0;
  for (const double weight : between.weights) {
    partial.soft_keys_with_weight += weight > 0 ? 1 : 0;
  }
  partial.weights = between.weights;
  partial.output = between.output;

  SOFTLOOKUP_ASSIGN_OR_RETURN(const SoftAnswer equal,
                              SoftLookup(table, {0, 0}, 1));
  soft.equal_scores.weights = equal.weights;
  soft.equal_scores.output = equal.output;
  soft.equal_scores.largest_weight_deviation = LargestDifference(
      equal.weights, std::vector<double>(table.size(), Share(table)));
  return soft;
}

absl::StatusOr<FactorResults> MeasureFactors(const LookupTable& table,
                                             const Vector2& query,
                                             double largest,
                                             int64_t per_decade) {
  const size_t best = BestKey(table, query);
  FactorResults found;
  found.hard_output = table[best].value;
  found.mean_output =
      WeightedAverage(table, std::vector<double>(table.size(), Share(table)));
  found.best_key = table[best].name;
  const auto measure = [&](double factor) -> absl::StatusOr<FactorPoint> {
    SOFTLOOKUP_ASSIGN_OR_RETURN(const SoftAnswer answer,
                                SoftLookup(table, query, factor));
    return FactorPoint{factor, answer.weights, answer.output,
                       LargestGap(answer.output, found.hard_output),
                       LargestGap(answer.output, found.mean_output)};
  };
  Smallest best_rise;
  Smallest other_rise;
  for (const double factor : Factors(largest, per_decade)) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(FactorPoint point, measure(factor));
    for (size_t j = 0; j < table.size() && !found.sweep.empty(); ++j) {
      (j == best ? best_rise : other_rise)
          .See(point.weights[j] - found.sweep.back().weights[j]);
    }
    found.sweep.push_back(std::move(point));
  }
  found.smallest_rise_of_best_weight = best_rise.value();
  found.smallest_rise_of_another_weight = other_rise.value();
  for (const double weight : found.sweep.front().weights) {
    found.zero_weight_deviations.push_back(std::abs(weight - Share(table)));
  }
  SOFTLOOKUP_ASSIGN_OR_RETURN(found.hundredth, measure(0.01));
  SOFTLOOKUP_ASSIGN_OR_RETURN(found.one, measure(1.0));
  SOFTLOOKUP_ASSIGN_OR_RETURN(found.ten, measure(10.0));
  return found;
}

OverflowResults MeasureOverflow(const LookupTable& table,
                                const Vector2& query) {
  OverflowResults overflow;
  // exp(710) exceeds the largest double.
  overflow.factor = 2000;
  std::vector<double> scores;
  std::vector<double> large;
  for (const double score : LookupScores(table, query)) {
    scores.push_back(score * AttentionScale({}, 2));
    large.push_back(overflow.factor * scores.back());
  }
  overflow.not_finite_with_subtraction = CountNotFinite(Softmax<double>(large));
  overflow.not_finite_without_subtraction =
      CountNotFinite(SoftmaxWithoutMaximum<double>(large));
  overflow.change_by_subtraction_at_factor_1 = LargestDifference(
      Softmax<double>(scores), SoftmaxWithoutMaximum<double>(scores));
  return overflow;
}

}  // namespace softlookup
