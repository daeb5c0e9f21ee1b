// The softmax Jacobian from uniform to one-hot weights.
//
//   Json found = MeasureJacobian({.rows = 1000, .keys = 16});
//   found["curve"]                      // trace and largest entry over c
//
// Source: the chapter, section 2, on the three properties of the Jacobian.
#ifndef SOFTLOOKUP_EXPERIMENTS_SATURATION_JACOBIAN_H_
#define SOFTLOOKUP_EXPERIMENTS_SATURATION_JACOBIAN_H_

#include <cstdint>

#include "base/json.h"

namespace softlookup {

struct JacobianOptions {
  int64_t rows = 0;  // drawn rows for the identities
  int64_t keys = 0;  // n, at least 2
  // Factors c of the curve, from 0 in equal steps of the square root of c.
  double largest_factor = 100;
  int64_t factor_steps = 100;
  uint64_t seed = 1;
};

// Over drawn rows of standard normal scores times factors from 0.1 to 20, the
// largest
//   "row_sum"            |sum_j J_ij|
//   "asymmetry"          |J_ij - J_ji|
//   "shift"              |p(s + 100) - p(s)|
//   "complex_step"       |J_ij - derivative of the softmax by complex step|
//   "trace_formula"      |sum_i J_ii - (1 - sum p^2)|
//   "entry_over_rest"    |J_ij| - (1 - largest p): every entry has a factor
//                        that vanishes with the rest's weight
//   "trace_over_uniform"          trace - trace of the uniform row
//   "largest_entry_over_uniform"  the same for J's largest entry
// and, for n evenly spaced scores of variance 1 times c,
//   "curve"     [{factor, largest_weight, trace, largest_entry}]
//   "curve_rises"  the largest step upwards of trace and largest entry
//   "matrices"  at c = 0, 1, 4, largest_factor: {factor, weights, jacobian}
Json MeasureJacobian(const JacobianOptions& options);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_SATURATION_JACOBIAN_H_
