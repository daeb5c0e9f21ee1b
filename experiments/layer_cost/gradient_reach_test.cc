#include "experiments/layer_cost/gradient_reach.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace softlookup {
namespace {

// With d = 1 and no tanh the Jacobian at distance n is w^n u: the geometric
// mean falls or grows by the same factor at every distance, and tanh's slopes
// only shrink it.
TEST(Gradients, WidthOneIsAGeometricSequence) {
  const GradientResults found =
      MeasureGradients({.distance = 12, .width = 1, .replicates = 3}).value();
  ASSERT_EQ(found.distances.size(), 12);
  EXPECT_EQ(found.distances[11], 12);
  const std::vector<double>& linear = found.linear.survival;
  const std::vector<double>& tanh = found.recurrent.survival;
  ASSERT_EQ(linear.size(), 12);
  EXPECT_EQ(linear[0], 1.0);
  EXPECT_EQ(tanh[0], 1.0);
  const double factor = linear[1];
  for (int n = 1; n < 12; ++n) {
    EXPECT_NEAR(linear[n] / std::pow(factor, n), 1, 1e-12);
    EXPECT_LT(tanh[n], linear[n]);
    EXPECT_NEAR(found.linear.directions[n], 1, 1e-12);
  }
  EXPECT_EQ(found.linear.full_distance.value, linear[11]);
  EXPECT_NEAR(found.linear.directions_kept.value, 1, 1e-12);
}

TEST(Gradients, RecurrenceForgetsAndAttentionDoesNot) {
  const GradientResults found =
      MeasureGradients({.distance = 40, .width = 8, .replicates = 6}).value();
  EXPECT_LT(found.recurrent.full_distance.value, 1e-4);
  EXPECT_GT(found.attention.full_distance.value, 0.1);
  EXPECT_LT(found.attention.full_distance.value, 10);
  EXPECT_LE(found.recurrent.survival_low[39], found.recurrent.survival[39]);
  EXPECT_GE(found.recurrent.survival_high[39], found.recurrent.survival[39]);
  EXPECT_LT(found.recurrent.directions[39], 2);
  EXPECT_GT(found.recurrent.directions[0], found.recurrent.directions[39]);
  // T (3 d + 14) units, as in the test of RecurrentGradient.
  const double deviation = found.complex_step_deviation;
  EXPECT_LT(deviation, 41 * (3 * 8 + 14) * 0x1p-53);
  EXPECT_GT(deviation, 0);
}

TEST(Loop, KnownInputsDoNotCutIt) {
  const LoopResults found =
      MeasureLoop({.width = 8, .positions = 33, .seed = 3});
  EXPECT_GT(found.smallest_later_change, 1e-7);
  EXPECT_LT(found.smallest_later_change, 1e-2);
  EXPECT_EQ(found.without_loop, 0);
  EXPECT_GT(found.superposition, 0.05);
  EXPECT_LT(found.linear_superposition, 1e-12);
}

}  // namespace
}  // namespace softlookup
