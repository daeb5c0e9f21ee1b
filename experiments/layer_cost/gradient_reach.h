// How much of the gradient is left after n positions.
//
// A recurrent net (tanh; and without it) with variance-preserving weights,
// W_h and W_x of variance 1 / d, and a head of attention with the same kind of
// projections read the same normalised tokens. For each distance n the
// Jacobian of the last output with respect to the token n positions before
// gives two numbers: its size (Frobenius norm), and how many directions it
// still carries (EffectiveDirections), from d (all alike) down to 1.
//
//   Json found = MeasureGradients({.distance = 100}).value();
//   found["recurrent"]["survival"]          // over n, relative to n = 1
//
// Source: the chapter, section 1, on path length and teacher forcing.
#ifndef SOFTLOOKUP_EXPERIMENTS_LAYER_COST_GRADIENT_REACH_H_
#define SOFTLOOKUP_EXPERIMENTS_LAYER_COST_GRADIENT_REACH_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "base/json.h"

namespace softlookup {

struct GradientOptions {
  int64_t distance = 100;   // the largest n
  int64_t width = 32;       // d
  int64_t replicates = 20;  // at least 2
  uint64_t seed = 1;
};

// {
//   "distances": [1 to distance],
//   "recurrent", "linear", "attention": {"survival", "survival_low",
//     "survival_high": geometric means over replicates and their intervals,
//     over distances; "directions": means, over distances; "full_distance":
//     the survival at the largest distance; "directions_kept": directions at
//     the largest distance over those at distance 1, an estimate},
//   "complex_step_deviation": of the tanh net's gradients, relative to
//     RecurrentGradientMagnitude
// }
absl::StatusOr<Json> MeasureGradients(const GradientOptions& options);

struct LoopOptions {
  int64_t width = 32;
  int64_t positions = 33;
  uint64_t seed = 1;
};

// What known inputs do not remove (teacher forcing): a small change of the
// state in the middle, all inputs as they were,
//   "smallest_later_change"    relative change of the states after it, the
//                              smallest over the next 8 positions
//   "without_loop"             the same with W_h = 0
// and whether T steps compose like a linear map of the inputs,
//   "superposition", "linear_superposition"
//                              |F(a + b) - F(a) - F(b) + F(0)| / |F(a)|
Json MeasureLoop(const LoopOptions& options);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_LAYER_COST_GRADIENT_REACH_H_
