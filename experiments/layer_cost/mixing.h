// The same results by other orders of work: loops against products and scans,
// whole matrices against blocks, token by token against all at once.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(Json mixing, MeasureMixing(options));
//
// Deviations are relative to the largest value (or, for the scan, to the sum
// of the terms' absolute values), so that bounds on rounding apply to them.
//
// Source: the chapter, section 1, on what self-attention and linear
// recurrences make parallel, and on memory.
#ifndef SOFTLOOKUP_EXPERIMENTS_LAYER_COST_MIXING_H_
#define SOFTLOOKUP_EXPERIMENTS_LAYER_COST_MIXING_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "base/json.h"

namespace softlookup {

struct MixingOptions {
  int64_t positions = 0;  // T
  int64_t width = 0;      // d
  uint64_t seed = 1;
};

// Causal attention with scores that depend on the key alone, as T dependent
// steps (RunningAverage) and as one product P V: {"positions", "width",
// "steps_of_the_loop", "deviation", "rows_alone_deviation"}; the last compares
// rows computed one by one, last first, with all rows at once.
absl::StatusOr<Json> MeasureMixing(const MixingOptions& options);

// A linear recurrence with decays in (0, 1): {"positions", "width",
// "steps_of_the_loop", "rounds_of_the_scan", "rounds_deviation" (from
// ceil(log2 T)), "deviation"}.
Json MeasureScan(const MixingOptions& options);

struct BlockOptions {
  int64_t positions = 0;  // T; 2 T is run as well
  int64_t width = 0;
  int64_t block = 0;
  uint64_t seed = 1;
};

// {"whole", "blocked": [at T, at 2 T]: {"positions", "peak_memory",
// "multiplications", "score_multiplications" (T^2 d, what all pairs take)},
// "weights_deviation": elements of the reference's weights - T^2,
// "deviation": blocked output against the reference,
// "memory_growth": {"whole", "blocked"}: peak at 2 T over peak at T,
// "arithmetic_growth": the same of multiplications,
// "arithmetic_ratio": blocked over whole multiplications at T,
// "windowed_arithmetic_ratio": attention to the own block only over whole}
absl::StatusOr<Json> MeasureBlocks(const BlockOptions& options);

// {"tokens", "recurrent_memory", "attention_memory": [after each token],
// "recurrent_growth", "attention_growth": last minus first,
// "formula_deviation": from attention/cost.h, over both and all tokens,
// "output_deviation": attention's outputs against causal attention over the
// whole sequence}
absl::StatusOr<Json> MeasureGeneration(const MixingOptions& options);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_LAYER_COST_MIXING_H_
