// The scores that attention began with: additive, dot and bilinear.
//
// Drawn decoder states s and encoder states h_j. Measured: that the context
// vector is the sum of the encoder states by weights that the scores decide,
// and follows the decoder's state; that each score is its formula; and which
// scores one matrix product gives for all pairs at once: the multiplicative
// ones, which are linear in the decoder's state, not the additive one, whose
// tanh stands between.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(
//       HistoricalScoresResults found,
//       MeasureHistoricalScores({.draws = 100, .seed = 1}));
//   found.largest_rank.dot                            // 4, the states' width
//
// Source: the chapter's introduction, on Bahdanau's and Luong's scores.
#ifndef SOFTLOOKUP_EXPERIMENTS_SOFT_LOOKUP_HISTORICAL_SCORES_H_
#define SOFTLOOKUP_EXPERIMENTS_SOFT_LOOKUP_HISTORICAL_SCORES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "attention/score_functions.h"
#include "base/random/random.h"
#include "base/statistics/estimate.h"
#include "base/tensor/tensor.h"

namespace softlookup {

struct HistoricalScoresDraws {
  int64_t draws = 100;  // of all inputs, >= 1
  uint64_t seed = 1;
};

struct HistoricalScoresInputs {
  Tensor<double> states;     // s, the decoder's, [n, width]
  Tensor<double> positions;  // h, the encoder's, [T, width]
  AdditiveWeights<double> additive;
  Tensor<double> bilinear;  // W, [width, width]
};
HistoricalScoresInputs DrawHistoricalScores(RandomStream& stream);

// Something measured of each score function.
template <typename T>
struct OfScores {
  T additive = {};
  T dot = {};
  T bilinear = {};
};

// The weights of decoder step 0 under the additive score, and what they give.
struct ContextExample {
  std::vector<double> additive_scores;  // [T]
  std::vector<double> weights;          // [T]
  std::vector<double> context_vector;   // [width]
};
ContextExample ContextOf(const HistoricalScoresInputs& inputs, int64_t step);

// The largest over pairs and components in one draw, or over the draws its mean
// and range: an Effect is a double or a MeanAndRange.
template <typename Effect>
struct ScoreDeviations {
  OfScores<Effect> from_formula;
  // Of the score of a sum of two states from the sum of their scores.
  OfScores<Effect> from_linearity;
  Effect bilinear_with_identity_from_dot = {};
  // Of the context vector, and of the sum of its weights.
  Effect context_from_weighted_sum = {};
  Effect weight_sum_from_1 = {};
  // Of a weight from step 0 to step 1, with v of the additive score and with
  // v = 0.
  Effect weight_change_by_decoder_state = {};
  Effect weight_change_without_network = {};
};
ScoreDeviations<double> DeviationsOf(const HistoricalScoresInputs& inputs);

struct HistoricalScoresResults {
  int64_t draws = 0;
  int64_t decoder_steps = 0;   // n
  int64_t positions = 0;       // T
  int64_t width = 0;           // of s and of h
  int64_t additive_units = 0;  // of the additive score's network
  ContextExample example;      // of the first draw
  ScoreDeviations<MeanAndRange> deviations;
  OfScores<int64_t> largest_rank;  // of the scores of all pairs, [n, T]
};

absl::StatusOr<HistoricalScoresResults> MeasureHistoricalScores(
    const HistoricalScoresDraws& draws);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_SOFT_LOOKUP_HISTORICAL_SCORES_H_
