// One pass against the textbook, and the softmax's safety, for experiment
// masking.
//
// Each function returns one member of the experiment's results.
//
// Source: the chapter, section 2, on the fused call, the half of the work that
// a causal kernel skips, and subtracting the maximum.
#ifndef SOFTLOOKUP_EXPERIMENTS_MASKING_FUSED_H_
#define SOFTLOOKUP_EXPERIMENTS_MASKING_FUSED_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "base/tensor/shape.h"

namespace softlookup {

// Streaming attention against attention by hand under a causal mask and right
// padding, in float and in double, for several tile widths. `shape` is
// [2, H, T, D]; the second sequence has `short_length` tokens.
absl::StatusOr<Json> MeasureFusedAgainstHand(uint64_t seed, const Shape& shape,
                                             int64_t short_length);

// The share of scores that a causal streaming pass over `positions` tokens
// never computes, for tiles of 1, 2, 4, ... up to `positions` queries and
// keys; and the same without a mask.
absl::StatusOr<Json> MeasureSkippedWork(uint64_t seed, int64_t positions);

// The softmax with and without subtracting the largest score, in float and in
// double: the same weights on small scores; on growing scores, where the
// exponential overflows and what becomes of the weights.
Json MeasureNumericalSafety(uint64_t seed);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_MASKING_FUSED_H_
