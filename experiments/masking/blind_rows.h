// Rows that see no key (blind rows), for experiment masking.
//
// A batch of two sequences: the first fills all T positions, the second has
// `short_length` tokens and is padded on the left. Shapes are [2, H, T, D].
// Each function returns one member of the experiment's results.
//
// Source: the chapter, section 2, on rows with every key masked.
#ifndef SOFTLOOKUP_EXPERIMENTS_MASKING_BLIND_ROWS_H_
#define SOFTLOOKUP_EXPERIMENTS_MASKING_BLIND_ROWS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "base/tensor/shape.h"

namespace softlookup {

// What a left-padded batch under a causal mask makes of the rows that see
// pads only: by hand, by the rule and with a mask of lowest finite numbers;
// how far NaN spreads over `layers` residual layers; and two remedies.
absl::StatusOr<Json> MeasureFullyMasked(uint64_t seed, const Shape& shape,
                                        int64_t short_length, int64_t layers);

// A causal and a padding mask, each of lowest finite numbers, added: where
// the sum overflows to -inf and what that does to the first pad row.
absl::StatusOr<Json> MeasureAddedMasks(uint64_t seed, const Shape& shape,
                                       int64_t short_length);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_MASKING_BLIND_ROWS_H_
