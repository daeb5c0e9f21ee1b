// Tokens projected into three roles: query, key and value.
//
// T token vectors X, [T, d], give Q = X W_Q and K = X W_K of width d_k and
// V = X W_V of width d_v; S = Q K^T / sqrt(d_k), P = softmax(S) by rows,
// O = P V. Measured on drawn tokens and projections: that each row is its own
// token's projection, that S has one score per pair of positions, that each
// row of P is a distribution and each output its average of the values; which
// widths must agree; and what three matrices can do that fewer cannot.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(Json json,
//                               MeasureProjections({.draws = 200, .seed = 1}));
//
// Source: the chapter, section 2.
#ifndef SOFTLOOKUP_EXPERIMENTS_WORKED_EXAMPLE_PROJECTIONS_H_
#define SOFTLOOKUP_EXPERIMENTS_WORKED_EXAMPLE_PROJECTIONS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "base/json.h"

namespace softlookup {

struct ProjectionDraws {
  int64_t draws = 200;  // of tokens and projections
  uint64_t seed = 1;
};

// {shapes, rows, distributions, widths, roles}.
absl::StatusOr<Json> MeasureProjections(const ProjectionDraws& draws);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_WORKED_EXAMPLE_PROJECTIONS_H_
