// Models that must not, or need not, form the induction circuit: what
// separates it from what merely looks like it.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(results["controls"],
//                               MeasureControls({.published = options}, run));
#ifndef SOFTLOOKUP_EXPERIMENTS_INDUCTION_CONTROLS_H_
#define SOFTLOOKUP_EXPERIMENTS_INDUCTION_CONTROLS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attention/kernels/kernel_options.h"
#include "base/json.h"
#include "experiments/induction/repeat_training.h"
#include "interpretability/repeated_sequences.h"
#include "model/transformer.h"

namespace softlookup {

struct ControlOptions {
  RepeatTrainingOptions published;  // the run that they are controls of
  int64_t sequences = 128;          // to evaluate on
};

// Trains one-layer models, otherwise as the published one:
//   "drawn_period"  on the same data: must fail
//   "fixed_period"  on one period, the middle one, for half of the steps:
//                   learns by position what looks like induction
//   "doubled"       on doubled tokens, for a quarter of the steps: copies
//   "smeared_keys"  on the same data, but each key head mixes a key with the
//                   one before it, for half of the steps: one layer is enough
// Each has "steps", "curve", its "window" (phase_change.h) and, from other
// sequences of the kind that it learned from, "accuracy", "repeat_loss",
// "first_loss", "prefix_matching" (of the head with the highest) and its
// "previous_token". Those of repeats have "period_transfer" and, on the
// published distribution of periods, "drawn": {"accuracy", "prefix_matching"}.
absl::StatusOr<Json> MeasureControls(const ControlOptions& options,
                                     const kernels::KernelOptions& run);

// The accuracy on the predictable positions of `sequences` sequences of one
// period, for every fourth period up to the longest of `data`:
// [{"period", "accuracy", "prefix_matching"}], estimates, the second of the
// head with the highest.
absl::StatusOr<Json> PeriodTransfer(const Transformer<float>& model,
                                    absl::Span<const float> weights,
                                    const RepeatOptions& data, uint64_t seed,
                                    int64_t sequences);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_INDUCTION_CONTROLS_H_
