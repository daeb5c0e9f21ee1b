// What moves information between positions and between layers, for experiment
// multi_head.
//
// Source: the chapter, section 4, on the residual stream.
#ifndef SOFTLOOKUP_EXPERIMENTS_MULTI_HEAD_STREAM_H_
#define SOFTLOOKUP_EXPERIMENTS_MULTI_HEAD_STREAM_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "experiments/multi_head/problem.h"

namespace softlookup {

// d(output at i) / d(input at j) along a random direction, by complex step,
// for every pair of positions: of a position-wise feed-forward layer and of
// causal multi-head attention. Batch 1.
absl::StatusOr<Json> MeasureInfluence(uint64_t seed,
                                      const MultiHeadSizes& sizes);

// A model of `layers` blocks (attention, then feed-forward; each reads the
// normalised residual stream and adds to it): the final stream against the
// embedding plus all writes, and the later blocks run again from the stream
// alone. Batch 1.
absl::StatusOr<Json> MeasureResidualStream(uint64_t seed,
                                           const MultiHeadSizes& sizes,
                                           int64_t layers);

// Which positions' writes change when one token of a sequence changes: of the
// hand-built head that looks one position back, and of one that looks
// everywhere.
absl::StatusOr<Json> MeasureReach(uint64_t seed, double match_score);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_MULTI_HEAD_STREAM_H_
