// The softmax Jacobian from uniform to one-hot weights.
//
//   JacobianResults found = MeasureJacobian({.rows = 1000, .keys = 16});
//   found.curve[10].trace               // at the eleventh factor c
//
// Source: the chapter, section 2, on the three properties of the Jacobian.
#ifndef SOFTLOOKUP_EXPERIMENTS_SATURATION_JACOBIAN_H_
#define SOFTLOOKUP_EXPERIMENTS_SATURATION_JACOBIAN_H_

#include <cstdint>
#include <vector>

#include "base/tensor/tensor.h"

namespace softlookup {

struct JacobianOptions {
  int64_t rows = 0;  // drawn rows for the identities
  int64_t keys = 0;  // n, at least 2
  // Factors c of the curve, from 0 in equal steps of the square root of c.
  double largest_factor = 100;
  int64_t factor_steps = 100;
  uint64_t seed = 1;
};

// The largest of each over rows of scores s with p = softmax(s) and its
// Jacobian J. Numbers without a unit.
struct JacobianDeviations {
  double row_sum = 0;        // |sum_j J_ij|
  double asymmetry = 0;      // |J_ij - J_ji|
  double shift = 0;          // |p(s + 100) - p(s)|
  double complex_step = 0;   // |J_ij - derivative of p by complex step|
  double trace_formula = 0;  // |sum_i J_ii - (1 - sum p^2)|
  // |J_ij| - (1 - largest p): every entry has a factor that vanishes with the
  // rest's weight.
  double entry_over_rest = 0;
  double trace_over_uniform = 0;          // trace - trace of the uniform row
  double largest_entry_over_uniform = 0;  // the same for J's largest |entry|
};

// Of scores, [rows, keys].
JacobianDeviations MeasureDeviations(const Tensor<double>& scores);

// Standard normal scores times factors from 0.1 to 20 in turn, [rows, keys].
Tensor<double> DrawScores(const JacobianOptions& options);

// The evenly spaced scores times `factor`.
struct JacobianPoint {
  double factor = 0;  // c
  double largest_weight = 0;
  double trace = 0;
  double largest_entry = 0;  // |J_ij|
};

struct JacobianMatrix {
  double factor = 0;
  std::vector<double> weights;  // [keys]
  Tensor<double> jacobian;      // [keys, keys]
};

struct JacobianResults {
  JacobianDeviations drawn;  // over DrawScores
  // n evenly spaced scores of variance 1, times c: from uniform, the first, to
  // one-hot, the last.
  std::vector<JacobianPoint> curve = {};
  // The curve's largest steps upwards.
  double trace_rise = 0;
  double largest_entry_rise = 0;
  // At c = 0, 1, 4 and the largest factor.
  std::vector<JacobianMatrix> matrices = {};
};

JacobianResults MeasureJacobian(const JacobianOptions& options);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_SATURATION_JACOBIAN_H_
