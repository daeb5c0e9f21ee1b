// What the cost table says, and what the layers' own code does.
//
//   Json counts = MeasureCounts(options).value();
//   counts["short"]["ratio"]                 // 50 / 512
//
// Source: the chapter, section 1, on costs and trade-offs.
#ifndef SOFTLOOKUP_EXPERIMENTS_LAYER_COST_COUNTS_H_
#define SOFTLOOKUP_EXPERIMENTS_LAYER_COST_COUNTS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "base/json.h"

namespace softlookup {

struct CountOptions {
  int64_t short_positions = 0;  // a sentence, whose layers are also run
  int64_t short_width = 0;
  int64_t long_positions = 0;  // a long context, by formula only
  int64_t long_width = 0;
  int64_t kernel = 3;    // of the convolution
  int64_t sequence = 0;  // tokens whose dependent steps are counted by running
  int64_t pairs_up_to = 40;  // positions between which all paths are traced
  uint64_t seed = 1;
};

// {
//   "short", "long", "long_doubled" (twice as many positions), "below",
//   "equal", "above" (T = d - 1, d, d + 1 at the short width): {"positions",
//     "width", "recurrent_operations", "attention_operations",
//     "convolution_operations", "ratio" (attention over recurrent)},
//   "equal_deviation": ratio - 1 at T = d,
//   "growth": operations and ratio at twice the long context over those at it,
//   "linearity_deviation": growth of the ratio - 2,
//   "quadratic_deviation": growth of attention's operations - 4,
//   "run": the short layers run on counting numbers: multiply-adds of the
//     recurrence, of the scores, of the weighted sums, of one projection, and
//     of the attention layer's four and the recurrent layer's one projection;
//     their deviations from T d^2, T^2 d, T^2 d, T d^2 and 4 T d^2, and the
//     deviation of scores over recurrence from T / d,
//   "sequential": dependent steps of a sequence, run: recurrent, of eight
//     sequences at once and one after the other, and attention; and the
//     differences from the formulas of attention/cost.h,
//   "path": over all pairs j < t, the largest deviation of the traced number
//     of updates from t - j (recurrent) and from 1 (attention),
//   "path_curve": [{"distance", "recurrent", "attention", "convolution",
//     "dilated_convolution"}],
//   "curves": {width: [{"positions", operations..., "ratio", multiply-adds
//     with projections, memory for the next token...}]}
// }
absl::StatusOr<Json> MeasureCounts(const CountOptions& options);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_LAYER_COST_COUNTS_H_
