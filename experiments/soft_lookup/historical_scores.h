// The scores that attention began with: additive, dot and bilinear.
//
// Drawn decoder states s and encoder states h_j. Measured: that the context
// vector is the sum of the encoder states by weights that the scores decide,
// and follows the decoder's state; that each score is its formula; and which
// scores one matrix product gives for all pairs at once: the multiplicative
// ones, which are linear in the decoder's state, not the additive one, whose
// tanh stands between.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(Json json,
//                               MeasureAlignment({.draws = 100, .seed = 1}));
//
// Source: the chapter's introduction, on Bahdanau's and Luong's scores.
#ifndef SOFTLOOKUP_EXPERIMENTS_SOFT_LOOKUP_HISTORICAL_SCORES_H_
#define SOFTLOOKUP_EXPERIMENTS_SOFT_LOOKUP_HISTORICAL_SCORES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "base/json.h"

namespace softlookup {

struct AlignmentDraws {
  int64_t draws = 100;
  uint64_t seed = 1;
};

// {sizes, example, context, formulas, one_product}.
absl::StatusOr<Json> MeasureAlignment(const AlignmentDraws& draws);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_SOFT_LOOKUP_HISTORICAL_SCORES_H_
