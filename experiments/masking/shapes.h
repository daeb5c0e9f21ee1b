// The shapes of the tensors in attention and in the padding listing, for
// experiment masking.
//
// Every shape is read off a tensor that was computed, not written down.
//
// Source: the chapter, section 2, figure 6.2 and the padding listing.
#ifndef SOFTLOOKUP_EXPERIMENTS_MASKING_SHAPES_H_
#define SOFTLOOKUP_EXPERIMENTS_MASKING_SHAPES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "base/tensor/shape.h"

namespace softlookup {

// Figure 6.2: one head over one sequence, from the inputs X, [T, d], to the
// outputs, with d_v = 3 d_k / 4 so that every letter has its own size.
absl::StatusOr<Json> MeasureFigureShapes(uint64_t seed, int64_t positions,
                                         int64_t width, int64_t head_width);

// The listing: queries of `shape`, [2, H, T, D], and the masks of a batch
// whose second sequence has `short_length` tokens and ends in pads.
absl::StatusOr<Json> MeasureListingShapes(uint64_t seed, const Shape& shape,
                                          int64_t short_length);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_MASKING_SHAPES_H_
