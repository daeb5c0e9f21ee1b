#include "experiments/saturation/jacobian.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace softlookup {
namespace {

// A row of two keys has p = (1 + t) / 2, (1 - t) / 2 and J = (1 - t^2) / 4
// times ((1, -1), (-1, 1)), with t = tanh((s_1 - s_2) / 2).
TEST(Jacobian, TwoKeysByClosedForm) {
  const JacobianResults found = MeasureJacobian(
      {.rows = 10, .keys = 2, .largest_factor = 9, .factor_steps = 3});
  const std::vector<JacobianPoint>& curve = found.curve;
  ASSERT_EQ(curve.size(), 4);
  // Two scores of mean 0 and variance 1 are -1 and 1.
  const double half_gap = 1;
  const double factors[] = {0, 1, 4, 9};
  double last = 1;
  double rise = -1;
  for (int i = 0; i < 4; ++i) {
    EXPECT_DOUBLE_EQ(curve[i].factor, factors[i]);
    const double t = std::tanh(factors[i] * half_gap);
    const double entry = (1 - t * t) / 4;
    EXPECT_NEAR(curve[i].largest_weight, (1 + t) / 2, 1e-14);
    EXPECT_NEAR(curve[i].largest_entry, entry, 1e-14);
    EXPECT_NEAR(curve[i].trace, 2 * entry, 1e-14);
    const JacobianMatrix& matrix = found.matrices[i];
    EXPECT_DOUBLE_EQ(matrix.factor, factors[i]);
    EXPECT_NEAR(std::abs(matrix.jacobian(0, 1)), entry, 1e-14);
    EXPECT_NEAR(matrix.jacobian(1, 1), entry, 1e-14);
    EXPECT_NEAR(matrix.weights[0] + matrix.weights[1], 1, 1e-15);
    if (i > 0) rise = std::max(rise, entry - last);
    last = entry;
  }
  EXPECT_NEAR(found.trace_rise, 2 * rise, 1e-14);
  EXPECT_NEAR(found.largest_entry_rise, rise, 1e-14);
}

TEST(Jacobian, CurveIsOverScoresOfVarianceOne) {
  const JacobianResults found = MeasureJacobian({.rows = 1, .keys = 5});
  const std::vector<double>& weights = found.matrices[1].weights;
  ASSERT_EQ(weights.size(), 5);
  double square = 0;
  double sum = 0;
  for (const double weight : weights) {
    const double score = std::log(weight);
    sum += score / 5;
    square += score * score / 5;
  }
  EXPECT_NEAR(square - sum * sum, 1, 1e-13);
}

TEST(Jacobian, DrawnRowsKeepTheIdentities) {
  const JacobianDeviations found =
      MeasureJacobian({.rows = 700, .keys = 16}).drawn;
  // Rounding errors are not exactly absent in 700 rows.
  for (const double deviation :
       {found.row_sum, found.complex_step, found.trace_formula}) {
    EXPECT_LT(deviation, 6e-15);
    EXPECT_GT(deviation, 0);
  }
  EXPECT_EQ(found.asymmetry, 0);
  EXPECT_LT(found.shift, 5e-14);
  EXPECT_GT(found.shift, 0);
  EXPECT_LT(found.entry_over_rest, 1e-15);
  EXPECT_LT(found.trace_over_uniform, 0);
  // Two equal keys far above the rest have entries of nearly 1/4, against
  // (1/16) (15/16) of the uniform row.
  EXPECT_NEAR(found.largest_entry_over_uniform, 0.25 - 15.0 / 256, 0.01);
}

}  // namespace
}  // namespace softlookup
