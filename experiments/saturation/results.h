// All that the experiment finds, and its results file.
//
//   run.results.divisors = MeasureDivisors(d_head);
//   Json json = ToJson(run.results);
//   json["scores"]["gaussian"]["128"]["variance"]["value"]    // about 128
#ifndef SOFTLOOKUP_EXPERIMENTS_SATURATION_RESULTS_H_
#define SOFTLOOKUP_EXPERIMENTS_SATURATION_RESULTS_H_

#include "base/json.h"
#include "experiments/saturation/jacobian.h"
#include "experiments/saturation/rows.h"
#include "experiments/saturation/scores.h"
#include "experiments/saturation/training.h"

namespace softlookup {

struct SaturationResults {
  Divisors divisors;
  ScoreSpread scores;
  ProjectionMoments projections_normalised;
  ProjectionMoments projections_not_normalised;
  JacobianResults jacobian;
  SaturationRows rows;
  TrainingResults training;
};

// {
//   "divisors",
//   "scores": {kind: {width: ...}, "furthest", "term", "same_vector": {width:
//     ..., "term"}},
//   "projections": {"normalised", "not_normalised"},
//   "jacobian": {the deviations, "uniform" and "one_hot" (the curve's ends),
//     "curve_rises": {"trace", "largest_entry"}, "curve", "matrices"},
//   "rows": {"uniform", "unscaled", "scaled", "qk_normalised",
//     "unscaled_over_scaled", "by_width": {width: ...}, "enlarged": {name:
//     ...}},
//   "training": {"accuracy_sought", "chance", "gradient_descent" and "adam":
//     {"rate", model: {"curve", ...}, "slowdown": {model: ..., "scaled_again"},
//     "best_rate_slowdown": {model: ...}}, "initial": {model: ...},
//     "query_weight_gradient_ratio", "sharpening"}
// }
// with the members of the structs under their own names. Estimates are as
// EstimateJson writes them, with "errors_off" where the truth is known.
Json ToJson(const SaturationResults& results);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_SATURATION_RESULTS_H_
