#include "experiments/soft_lookup/lookup_slopes.h"

#include <cmath>

#include "absl/types/span.h"
#include "attention/testing/gradient_check.h"
#include "base/status.h"
#include "base/tensor/deviation.h"
#include "base/tensor/tensor.h"

namespace softlookup {
namespace {

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

absl::StatusOr<PathResults> MeasurePath(const LookupTable& table,
                                        int64_t queries) {
  // Central differences with this step have a truncation error of about
  // step^2 and a rounding error of about 1e-16 / step: together near 1e-10.
  constexpr double kDifferenceStep = 1e-5;
  PathResults path;
  path.steps = queries - 1;
  Smallest jumps;
  Largest soft_steps;
  Smallest slopes;
  Largest deviation;
  for (int64_t step = 0; step < queries; ++step) {
    const double angle = AngleOfStep(step, queries);
    const Vector2 query = QueryAt(angle);
    const Vector2& hard = table[BestKey(table, query)].value;
    SOFTLOOKUP_ASSIGN_OR_RETURN(const SoftAnswer soft,
                                SoftLookup(table, query, 1));
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        const SoftAnswer ahead,
        SoftLookup(table, QueryAt(angle + kDifferenceStep), 1));
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        const SoftAnswer behind,
        SoftLookup(table, QueryAt(angle - kDifferenceStep), 1));
    const Vector2 direction = {-query[1], query[0]};  // d(query)/d(angle)
    Largest slope_size;
    for (int c = 0; c < 2; ++c) {
      const double slope = soft.query_gradients[c](0, 0) * direction[0] +
                           soft.query_gradients[c](0, 1) * direction[1];
      const double difference =
          (ahead.output[c] - behind.output[c]) / (2 * kDifferenceStep);
      deviation.See(std::abs(slope - difference));
      slope_size.See(std::abs(slope));
    }
    slopes.See(slope_size.value());
    if (step > 0) {
      const double jump = LargestGap(hard, path.hard_outputs.back());
      if (jump == 0) {
        ++path.hard_steps_without_change;
      } else {
        ++path.hard_jumps;
        jumps.See(jump);
      }
      const double soft_step =
          LargestGap(soft.output, path.soft_outputs.back());
      if (soft_step == 0) ++path.soft_steps_without_change;
      soft_steps.See(soft_step);
    }
    path.degrees.push_back(angle * 180 / 3.141592653589793);
    path.hard_outputs.push_back(hard);
    path.soft_outputs.push_back(soft.output);
  }
  path.hard_smallest_jump = jumps.value();
  path.soft_largest_step = soft_steps.value();
  path.soft_smallest_slope = slopes.value();
  path.soft_slope_against_difference = deviation.value();
  return path;
}

absl::StatusOr<SlopeResults> MeasureSlopes(const LookupTable& table,
                                           const Vector2& query) {
  constexpr double kStep = 1e-6;
  Largest hard_slope;
  for (int c = 0; c < 2; ++c) {
    Vector2 ahead = query;
    Vector2 behind = query;
    ahead[c] += kStep;
    behind[c] -= kStep;
    hard_slope.See(LargestGap(table[BestKey(table, ahead)].value,
                              table[BestKey(table, behind)].value) /
                   (2 * kStep));
  }
  SOFTLOOKUP_ASSIGN_OR_RETURN(const SoftAnswer soft,
                              SoftLookup(table, query, 1));
  SlopeResults found;
  found.hard_query = hard_slope.value();
  found.soft_query = LargestMagnitude(soft.query_gradients[1]);
  found.soft_keys = LargestMagnitude(soft.key_gradients[1]);
  found.soft_values = LargestMagnitude(soft.value_gradients[1]);
  // As functions of the query, of the keys, of the values.
  const Tensor<double> row({1, 2}, {query[0], query[1]});
  const Tensor<double> keys = StackedKeys(table);
  const Tensor<double> values = StackedValues(table);
  Largest from_query;
  Largest from_keys;
  Largest from_values;
  for (int c = 0; c < 2; ++c) {
    const auto matrix = [&keys](absl::Span<const double> x) {
      return Tensor<double>(keys.shape(),
                            std::vector<double>(x.begin(), x.end()));
    };
    from_query.See(FromDifferences(
        [&](absl::Span<const double> x) {
          return SoftLookup(table, {x[0], x[1]}, 1).value().output[c];
        },
        row, soft.query_gradients[c]));
    from_keys.See(FromDifferences(
        [&](absl::Span<const double> x) {
          return SoftLookup(matrix(x), values, query, 1).value().output[c];
        },
        keys, soft.key_gradients[c]));
    from_values.See(FromDifferences(
        [&](absl::Span<const double> x) {
          return SoftLookup(keys, matrix(x), query, 1).value().output[c];
        },
        values, soft.value_gradients[c]));
  }
  found.query_against_difference = from_query.value();
  found.keys_against_difference = from_keys.value();
  found.values_against_difference = from_values.value();
  return found;
}

}  // namespace softlookup
