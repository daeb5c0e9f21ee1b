// What a head reads and writes: its share of the output and its two circuits.
//
// Source: the chapter, section 4, on the sum of writes and the two low-rank
// circuits.
#ifndef SOFTLOOKUP_EXPERIMENTS_MULTI_HEAD_CIRCUITS_H_
#define SOFTLOOKUP_EXPERIMENTS_MULTI_HEAD_CIRCUITS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "experiments/multi_head/problem.h"

namespace softlookup {

// Three identities of one layer, each as the largest difference over its bound
// from rounding: the output is the sum of the heads' writes; a score is the
// bilinear form of the QK circuit; a write is the weighted inputs times the OV
// circuit.
//
// The bounds are elementwise. A chain of products of inner sizes n_1, n_2, ...
// has at most n_1 + n_2 + ... roundings on the way to an element, each of the
// sum of the magnitudes of its terms. Both sides of an identity have the same
// terms, so the bound is twice that, with one percent for the second order.
absl::StatusOr<Json> MeasureIdentities(uint64_t seed,
                                       const MultiHeadSizes& sizes);

// Singular values and ranks of every head's circuits, beside those of one
// full-width head; the dimensions that a head's writes span; and what a change
// of the inputs outside the space that a head reads does to it.
absl::StatusOr<Json> MeasureSubspaces(uint64_t seed,
                                      const MultiHeadSizes& sizes);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_MULTI_HEAD_CIRCUITS_H_
