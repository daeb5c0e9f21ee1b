// What a causal mask hides, measured for experiment masking.
//
// Each function returns one member of the experiment's results. The problem is
// the chapter's listing: two sequences, normal queries, keys and values.
//
// Source: the chapter, section 2, on the causal mask.
#ifndef SOFTLOOKUP_EXPERIMENTS_MASKING_CAUSAL_H_
#define SOFTLOOKUP_EXPERIMENTS_MASKING_CAUSAL_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "base/tensor/shape.h"

namespace softlookup {

// For T = 1 to largest_positions: the masked score entries, counted, and the
// largest deviations from T (T - 1) / 2 and from i kept scores in row i.
Json MeasureCounts(int64_t largest_positions);

// The weight of, and the gradient through, entries above the diagonal: masked,
// unmasked, and with finite penalties added instead of a mask. `shape` is
// [B, H, T, D].
absl::StatusOr<Json> MeasureFuture(uint64_t seed, const Shape& shape);

// A boolean mask, the same mask added as -inf and as the lowest finite number,
// and the causal flag: largest differences between outputs, in float and in
// double.
absl::StatusOr<Json> MeasureForms(uint64_t seed, const Shape& shape);

// One causal pass over T tokens of a two-layer attention-only model against T
// passes over its prefixes, with and without the mask. `shape` is
// [1, H, T, D].
absl::StatusOr<Json> MeasurePrefixes(uint64_t seed, const Shape& shape);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_MASKING_CAUSAL_H_
