// How far the softmax saturates with and without the scale: many random rows,
// summarised for figures and claims.
//
//   Json rows = MeasureSaturation(options).value();
//   rows["scaled"]["largest_weight"]["median"]["value"]       // about 0.22
//
// Source: the chapter, section 2, experiment 1.
#ifndef SOFTLOOKUP_EXPERIMENTS_SATURATION_ROWS_H_
#define SOFTLOOKUP_EXPERIMENTS_SATURATION_ROWS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "base/json.h"

namespace softlookup {

struct SaturationOptions {
  int64_t draws = 0;   // rows, a multiple of `blocks`
  int64_t keys = 0;    // at least 2
  int64_t width = 0;   // d_k
  int64_t blocks = 0;  // replicates behind the standard errors, at least 2
  // The sweep over widths 1, 2, 4, ... has its own number of rows, a multiple
  // of `blocks` as well.
  int64_t sweep_draws = 0;
  int64_t largest_width = 0;
  uint64_t seed = 1;
};

// {
//   "uniform": the rows under scale 0, all of whose scores are equal,
//   "unscaled", "scaled", "qk_normalised": the same rows under scale 1, under
//     1 / sqrt(d_k), and under the latter after QK normalisation:
//     {"score_deviation", "largest_weight", "entropy", "jacobian_trace",
//     "jacobian_norm", "score_gradient", "query_gradient", "gap_to_runner_up",
//     "gap_to_mean_rest", "gap_to_each"}, each with estimates of its mean and
//     median, and "product_deviation", the largest; weights and entropies with
//     histograms, gaps with the fraction that is at least 10,
//   "unscaled_over_scaled": ratios of medians and means of the gradients,
//   "by_width": {width: {"width", "unscaled", "scaled",
//     "unscaled_over_scaled"}}, less detailed,
//   "enlarged": {"halved", "doubled", "quadrupled"}: scaled rows whose queries
//     and keys are multiplied by "factor": {"factor", "plain",
//     "qk_normalised", "entropy_lost" (against the rows as drawn),
//     "spread_growth" and "qk_normalised_spread_growth" (root mean square of
//     the scores over that of the rows as drawn)}
// }
absl::StatusOr<Json> MeasureSaturation(const SaturationOptions& options);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_SATURATION_ROWS_H_
