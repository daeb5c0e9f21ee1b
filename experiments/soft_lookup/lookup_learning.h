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
//       Json json, MeasureLookupLearning({.draws = 10, .steps = 200,
//                                         .seed = 1}));
//
// Source: the chapter, section 1, on why softness lets attention learn.
#ifndef SOFTLOOKUP_EXPERIMENTS_SOFT_LOOKUP_LOOKUP_LEARNING_H_
#define SOFTLOOKUP_EXPERIMENTS_SOFT_LOOKUP_LOOKUP_LEARNING_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "base/json.h"

namespace softlookup {

struct LearningDraws {
  int64_t draws = 10;   // of tokens and projections
  int64_t steps = 200;  // of gradient descent
  uint64_t seed = 1;
};

// {tokens, width, steps, soft: {loss_curve, loss_ratio, weight_on_wanted_...},
//  hard: {...}, first_gradients}.
absl::StatusOr<Json> MeasureLookupLearning(const LearningDraws& draws);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_SOFT_LOOKUP_LOOKUP_LEARNING_H_
