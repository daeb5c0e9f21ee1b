// Two hand-built circuits, taken apart: a head that chooses by position and
// copies identity, and the two heads that complete a repetition.
//
// Source: the chapter, section 4, on the independence of the two circuits and
// on induction heads.
#ifndef SOFTLOOKUP_EXPERIMENTS_MULTI_HEAD_HAND_BUILT_INDUCTION_H_
#define SOFTLOOKUP_EXPERIMENTS_MULTI_HEAD_HAND_BUILT_INDUCTION_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "base/json.h"

namespace softlookup {

// The head that looks one position back and writes the token there: what
// changes when its OV circuit, its QK circuit or all tokens are exchanged.
absl::StatusOr<Json> MeasureIndependence(uint64_t seed, double match_score);

// The induction circuit on one sentence and on `sequences` drawn ones, intact
// and broken in five ways (either head ablated, both in one layer, in the
// wrong order, and with both writes in one subspace); and a single layer that
// copies.
absl::StatusOr<Json> MeasureInduction(uint64_t seed, double match_score,
                                      int64_t sequences);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_MULTI_HEAD_HAND_BUILT_INDUCTION_H_
