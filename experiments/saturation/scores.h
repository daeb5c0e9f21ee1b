// How far scores spread: q . k over the head width, for several kinds of
// entries, and after normalised inputs and projections.
//
//   Json spread = MeasureScoreSpread({.draws = 5000, .largest_width = 512});
//   spread["gaussian"]["128"]["variance"]["value"]      // about 128
//
// Source: the chapter, section 2, on the mean and the variance of a score.
#ifndef SOFTLOOKUP_EXPERIMENTS_SATURATION_SCORES_H_
#define SOFTLOOKUP_EXPERIMENTS_SATURATION_SCORES_H_

#include <cstdint>

#include "base/json.h"

namespace softlookup {

struct ScoreSpreadOptions {
  int64_t draws = 0;          // independent scores per width, at least 4
  int64_t largest_width = 0;  // widths 2, 4, 8, ... up to this
  uint64_t seed = 1;
};

// {kind: {width: {"width", "mean", "variance", "standard_deviation",
// "scaled_variance", "variance_errors_off_1"}, ...}, ...}, for entries of mean
// 0 and variance 1: "gaussian", "uniform" (on [-sqrt 3, sqrt 3]) and "signs";
// "term": mean and second moment of a single product q_i k_i of Gaussians;
// "same_vector": the widths and the term again for Gaussians with k = q, which
// are anything but independent; and "furthest": over all kinds and widths, the
// largest distance in standard errors of the mean from 0 ("mean"), of the
// variance from the width ("variance"), of the scaled variance from 1
// ("scaled_variance") and of the variance as it is from 1
// ("unscaled_variance").
Json MeasureScoreSpread(const ScoreSpreadOptions& options);

struct ProjectionOptions {
  int64_t replicates = 0;   // draws of W_Q, W_K and inputs, at least 2
  int64_t tokens = 0;       // per replicate
  int64_t model_width = 0;  // d
  int64_t head_width = 0;   // d_k
  double weight_gain = 1;   // weights have variance gain^2 / d
  bool normalise = true;    // mean 0 and variance 1 for each input
  uint64_t seed = 1;
};

// Inputs with skewed entries (mean and variance 2 before normalisation), two
// projections, and all scores between the tokens. Mean squares over a
// replicate, as estimates of 1 over replicates: {"input_mean_square",
// "query_entry_variance", "key_entry_variance", "scaled_score_variance"}.
Json MeasureProjections(const ProjectionOptions& options);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_SATURATION_SCORES_H_
