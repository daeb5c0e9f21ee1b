// What multi-head attention costs, counted operation by operation.
//
// The listing runs on numbers that count: every multiply-add that the
// projections, the scores and the averages take is counted as it happens, for
// one head, two heads and so on, and set beside the formulas in
// attention/cost.h.
//
// Source: the chapter, section 4, on why the cost does not grow with the
// number of heads, and on counting.
#ifndef SOFTLOOKUP_EXPERIMENTS_MULTI_HEAD_COSTS_H_
#define SOFTLOOKUP_EXPERIMENTS_MULTI_HEAD_COSTS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "experiments/multi_head/problem.h"

namespace softlookup {

// The multiply-adds of one causal layer over one sequence, as counted.
struct CountedLayer {
  int64_t parameters = 0;         // elements of W_Q, W_K, W_V and W_O
  int64_t one_projection = 0;     // of one role, all positions
  int64_t four_projections = 0;   // all positions
  int64_t all_scores = 0;         // nothing skipped
  std::vector<int64_t> scores;    // of position t = 1, 2, ...: t keys
  std::vector<int64_t> averages;  // likewise
};

// Runs the layer of `sizes` (batch 1) on counting numbers.
CountedLayer CountLayerOperations(uint64_t seed, const MultiHeadSizes& sizes);

// One member of the experiment's results: counts for every number of heads
// that divides the width, in powers of two; per token, per context and per
// sequence; and the numbers of a layer of width `large_width` with
// `large_heads` heads, from the formulas.
absl::StatusOr<Json> MeasureCosts(uint64_t seed, const MultiHeadSizes& sizes,
                                  int64_t large_width, int64_t large_heads);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_MULTI_HEAD_COSTS_H_
