// Padding on either side, and the loss over padded batches, for experiment
// masking.
//
// A batch of two sequences: the first fills all T positions, the second has
// `short_length` tokens and is padded on one side. Shapes are [2, H, T, D].
// Each function returns one member of the experiment's results.
//
// Source: the chapter, section 2, on the padding mask.
#ifndef SOFTLOOKUP_EXPERIMENTS_MASKING_PADDING_H_
#define SOFTLOOKUP_EXPERIMENTS_MASKING_PADDING_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "base/tensor/shape.h"

namespace softlookup {

// For padding on either side, with and without a causal mask: the weight on
// pads, the outputs of the short sequence against those it has alone, pad
// queries and rows that see no key; each also without the padding mask.
absl::StatusOr<Json> MeasurePadding(uint64_t seed, const Shape& shape,
                                    int64_t short_length);

// The next-token loss over a right-padded batch, with the pads' targets
// ignored and with them counted.
absl::StatusOr<Json> MeasurePaddedLoss(uint64_t seed, const Shape& shape,
                                       int64_t short_length);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_MASKING_PADDING_H_
