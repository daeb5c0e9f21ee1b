// When in training a model learned to use its context, by stated rules.
//
//   results["phase_change"] = MeasurePhaseChange(trained.curve, induction);
//
// The window: the in-context-learning score goes from its first value to its
// last; the window begins at the last point of the curve before a fifth of
// that way is done for good, and ends at the first point from which on four
// fifths are. A score that has not fallen by 0.1 nats gives no window.
//
// The bump: the largest rise of the loss at all positions from a point of the
// curve to a later one, up to the end of the window, sequence by sequence. It
// counts if it is more than four standard errors over the sequences; without
// such a rise there is none.
#ifndef SOFTLOOKUP_EXPERIMENTS_INDUCTION_PHASE_CHANGE_H_
#define SOFTLOOKUP_EXPERIMENTS_INDUCTION_PHASE_CHANGE_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "base/json.h"
#include "experiments/induction/repeat_training.h"
#include "interpretability/head_interventions.h"

namespace softlookup {

// The first index from which on every value has gone at least `share` of the
// way from the first to the last. `values` is not empty.
int64_t ReachedForGood(absl::Span<const double> values, double share);

// The part of it that asks for no heads: {"found", "in_context_fall", "points",
// and if found "begin", "end", "half", "share_of_training"}.
Json MeasureWindow(const std::vector<CurvePoint>& curve);

// {"found", and if so "begin", "end" (steps), "half" (the step at which half
// of the way is done for good), "share_of_training"; "in_context_fall";
// "bump": {"found", "rise" (estimate), "from", "to"} without the last three
// if no loss rises anywhere; "induction_half", the step at which the
// induction head's prefix-matching score has made half of its rise for good,
// "previous_token_half" of the previous-token head's score, and
// "copying_half" of the accuracy; "points" of the curve}.
Json MeasurePhaseChange(const std::vector<CurvePoint>& curve,
                        const HeadPair& pair);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_INDUCTION_PHASE_CHANGE_H_
