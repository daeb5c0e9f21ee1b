// How many places one head and several heads can reach, for experiment
// multi_head.
//
// Source: the chapter, section 4, on why there are several heads.
#ifndef SOFTLOOKUP_EXPERIMENTS_MULTI_HEAD_PLACES_H_
#define SOFTLOOKUP_EXPERIMENTS_MULTI_HEAD_PLACES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "base/json.h"

namespace softlookup {

// One query and two values, a = (1, 0) and b = (0, 1): what one head returns
// as the score of a exceeds that of b by -largest_gap to largest_gap, how
// near it comes to both at once, and what two heads do. Distances are in units
// of |a - b|.
absl::StatusOr<Json> MeasureTwoPlaces(double largest_gap, int64_t steps);

// `heads` heads that each look for a position of their own: the positions
// that the last query gives more than 0.99 to, with all heads and with one.
absl::StatusOr<Json> MeasureManyPlaces(int64_t heads, double match_score);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_MULTI_HEAD_PLACES_H_
