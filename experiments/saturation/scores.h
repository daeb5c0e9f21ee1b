// How far scores spread: q . k over the head width, for several kinds of
// entries, and after normalised inputs and projections.
//
//   ScoreSpread spread =
//       MeasureScoreSpread({.draws = 5000, .largest_width = 512});
//   spread.kinds[0].by_width[6].variance.value      // d_k = 128: about 128
//
// Source: the chapter, section 2, on the mean and the variance of a score.
#ifndef SOFTLOOKUP_EXPERIMENTS_SATURATION_SCORES_H_
#define SOFTLOOKUP_EXPERIMENTS_SATURATION_SCORES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/statistics/estimate.h"

namespace softlookup {

struct ScoreSpreadOptions {
  int64_t draws = 0;          // independent scores per width, at least 4
  int64_t largest_width = 0;  // widths 2, 4, 8, ... up to this
  uint64_t seed = 1;
};

// Scores s = q . k of vectors of one width.
struct ScoresAtWidth {
  int64_t width = 0;            // d_k
  Estimate mean;                // of s: 0 for independent entries
  Estimate variance;            // d_k for these
  Estimate standard_deviation;  // of s
  Estimate scaled_variance;     // of s / sqrt(d_k): 1 for these
};

// Independent entries of mean 0 and variance 1, of one distribution.
struct EntryKind {
  std::string name;  // "gaussian", "uniform" (on [-sqrt 3, sqrt 3]), "signs"
  std::vector<ScoresAtWidth> by_width;  // 2, 4, 8, ...
};

// A single product q_i k_i of Gaussians: 0 and 1 where they are independent.
struct TermMoments {
  Estimate mean;
  Estimate second_moment;
};

// The largest distance of an estimate from its truth, in standard errors.
struct FurthestOff {
  double mean = 0;               // from 0
  double variance = 0;           // from the width
  double scaled_variance = 0;    // from 1
  double unscaled_variance = 0;  // of the variance, from 1
};

struct ScoreSpread {
  std::vector<EntryKind> kinds;
  FurthestOff furthest;  // over all kinds and widths
  TermMoments term;
  // Gaussians with k = q, which are anything but independent.
  std::vector<ScoresAtWidth> same_vector;
  TermMoments same_vector_term;
};

ScoreSpread MeasureScoreSpread(const ScoreSpreadOptions& options);

// sqrt(d_k) as the divisor that attention uses.
struct Divisors {
  int64_t width = 0;  // d_k
  double divisor = 0;
  double divisor_at_width_2 = 0;
  double ratio = 0;  // of the former to the latter
};

Divisors MeasureDivisors(int64_t width);

struct ProjectionOptions {
  int64_t replicates = 0;  // draws of W_Q, W_K and inputs, at least 2
  int64_t tokens = 0;      // per replicate
  int64_t d_model = 0;     // d
  int64_t d_head = 0;      // d_k
  double weight_gain = 1;  // weights have variance gain^2 / d
  bool normalise = true;   // mean 0 and variance 1 for each input
  uint64_t seed = 1;
};

// Mean squares over a replicate, as estimates over replicates.
struct ProjectionMoments {
  Estimate input_mean_square;
  Estimate query_entry_variance;
  Estimate key_entry_variance;
  Estimate scaled_score_variance;
};

// Inputs with skewed entries (mean and variance 2 before normalisation), two
// projections, and all scores between the tokens. Normalised, all four are 1.
ProjectionMoments MeasureProjections(const ProjectionOptions& options);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_SATURATION_SCORES_H_
