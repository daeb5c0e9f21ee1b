// Learning where to look: the same task for a soft and a hard lookup.
//
// T drawn tokens, projected to queries, keys and values; the wanted output of
// token i is the value of token i + 1 (cyclically). Gradient descent changes
// the query and key projections, so it decides what each position looks for
// and by what it is found. The soft lookup averages by softmax weights; the
// hard one returns the value of the best key, and its gradient, by central
// differences of its loss, is zero.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(
//       LookupLearningResults found,
//       MeasureLookupLearning({.draws = 10, .steps = 200, .seed = 1}));
//   found.effects.soft_weight_on_wanted_after.mean     // 0.98
//
// Source: the chapter, section 1, on why softness lets attention learn.
#ifndef SOFTLOOKUP_EXPERIMENTS_SOFT_LOOKUP_LOOKUP_LEARNING_H_
#define SOFTLOOKUP_EXPERIMENTS_SOFT_LOOKUP_LOOKUP_LEARNING_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "base/random/random.h"
#include "base/statistics/estimate.h"
#include "base/tensor/tensor.h"

namespace softlookup {

struct LearningDraws {
  int64_t draws = 10;   // of tokens and projections, >= 1
  int64_t steps = 200;  // of gradient descent, >= 1
  uint64_t seed = 1;
};

struct LearningTask {
  Tensor<double> tokens;        // X, [4, 16]
  Tensor<double> query_matrix;  // W_Q, [16, 8]
  Tensor<double> key_matrix;    // W_K, [16, 8]
  Tensor<double> value_matrix;  // W_V, [16, 8]
};
LearningTask DrawLearningTask(RandomStream& stream);

// What one draw shows, or over the draws its mean and range: an Effect is a
// double or a MeanAndRange. Gradients are the largest |component| at the
// start; NaN when a number is NaN.
template <typename Effect>
struct LearningEffects {
  Effect soft_loss_last_over_first = {};
  Effect hard_loss_last_over_first = {};
  Effect soft_weight_on_wanted_before = {};  // averaged over the tokens
  Effect soft_weight_on_wanted_after = {};
  Effect soft_query_or_key_gradient = {};  // of the smaller of the two
  Effect soft_value_gradient = {};
  Effect hard_query_or_key_gradient = {};  // of the larger of the two
};

// The loss before each step.
struct LossCurves {
  std::vector<double> soft;
  std::vector<double> hard;
};

// Runs the descent; `curves` may be null.
absl::StatusOr<LearningEffects<double>> LearnOnce(const LearningTask& task,
                                                  int64_t steps,
                                                  LossCurves* curves);

struct LookupLearningResults {
  int64_t draws = 0;
  int64_t steps = 0;
  int64_t tokens = 0;
  double learning_rate = 0;
  LearningEffects<MeanAndRange> effects;
  LossCurves curves_of_first_draw;
};

absl::StatusOr<LookupLearningResults> MeasureLookupLearning(
    const LearningDraws& draws);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_SOFT_LOOKUP_LOOKUP_LEARNING_H_
