#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "experiments/saturation/rows.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

// A single row with q = (1, 2), keys (1, 0), (0, 1), (0, 0): scores 1, 2, 0
// times the scale.
RandomRows KnownRow() {
  RandomRows rows({.rows = 1, .keys = 3, .width = 2});
  rows.query.elements() = {1, 2};
  rows.key.elements() = {1, 0, 0, 1, 0, 0};
  rows.weight_gradient.elements() = {1, 0, 0};
  return rows;
}

TEST(MeasureRows, WeightsAndJacobianByClosedForm) {
  // Scale log 2: exponentials 2, 4, 1 and weights 2/7, 4/7, 1/7.
  const RowMeasures m = MeasureRows(KnownRow(), std::log(2.0)).value();
  const double p[] = {2.0 / 7, 4.0 / 7, 1.0 / 7};
  EXPECT_NEAR(m.largest_weight[0], p[1], 1e-15);
  double entropy = 0;
  double frobenius = 0;
  double length = 0;
  for (int i = 0; i < 3; ++i) {
    entropy -= p[i] * std::log(p[i]);
    for (int j = 0; j < 3; ++j) {
      const double element = p[i] * ((i == j) - p[j]);
      frobenius += element * element;
      if (j == 0) length += element * element;  // J g is J's first column
    }
  }
  EXPECT_NEAR(m.entropy[0], entropy, 1e-14);
  EXPECT_NEAR(m.jacobian_trace[0], 1 - 21.0 / 49, 1e-15);
  EXPECT_NEAR(m.jacobian_norm[0], std::sqrt(frobenius), 1e-15);
  EXPECT_NEAR(m.score_gradient[0], std::sqrt(length), 1e-15);
  EXPECT_LT(m.product_deviation, 1e-15);
  // dL/dq = scale sum_j ds_j k_j = scale (10/49, -8/49).
  EXPECT_NEAR(m.query_gradient[0], std::log(2.0) * std::sqrt(164.0) / 49,
              1e-15);
}

TEST(MeasureRows, ScoresAndGaps) {
  const RowMeasures m = MeasureRows(KnownRow(), 0.5).value();
  EXPECT_EQ(m.scores, (std::vector<double>{0.5, 1, 0}));
  EXPECT_EQ(m.gap_to_runner_up, std::vector<double>{0.5});
  EXPECT_EQ(m.gap_to_mean_rest, std::vector<double>{0.75});
  EXPECT_EQ(m.gap_to_each, (std::vector<double>{1, 0.5}));
}

TEST(MeasureRows, OneHotWeightsHaveNoEntropyAndNoGradient) {
  // Scores 0, 0 and -2000 beside 2000: the other weights underflow to 0.
  RandomRows rows = KnownRow();
  rows.query.elements() = {2000, 0};
  rows.key.elements() = {1, 0, -1, 0, 0, 0};
  const RowMeasures m = MeasureRows(rows, 1).value();
  EXPECT_EQ(m.largest_weight[0], 1);
  EXPECT_EQ(m.entropy[0], 0);
  EXPECT_EQ(m.jacobian_norm[0], 0);
  EXPECT_EQ(m.score_gradient[0], 0);
}

TEST(MeasureRows, RefusesAnInfiniteScale) {
  EXPECT_EQ(MeasureRows(KnownRow(), HUGE_VAL).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(RandomRows, NormalisedRowsIgnoreTheScaleOfTheEntries) {
  const RandomRows rows({.rows = 20, .keys = 4, .width = 8});
  const RandomRows once = Normalised(rows);
  // A power of two changes no bit but the exponent's.
  const RandomRows twice = Normalised(Enlarged(rows, 4));
  EXPECT_EQ(once.query.elements(), twice.query.elements());
  EXPECT_EQ(once.key.elements(), twice.key.elements());
  EXPECT_EQ(once.weight_gradient.elements(), rows.weight_gradient.elements());
  for (int64_t j = 0; j < 4; ++j) {
    double square = 0;
    for (int64_t i = 0; i < 8; ++i) {
      square += once.key(3, 0, j, i) * once.key(3, 0, j, i);
    }
    EXPECT_NEAR(square, 8, 1e-13);
  }
}

TEST(RandomRows, EnlargedRowsHaveScoresTimesTheSquare) {
  const RandomRows rows({.rows = 3, .keys = 4, .width = 8});
  const RowMeasures plain = MeasureRows(rows, 1).value();
  const RowMeasures enlarged = MeasureRows(Enlarged(rows, 2), 1).value();
  for (size_t i = 0; i < plain.scores.size(); ++i) {
    EXPECT_EQ(enlarged.scores[i], 4 * plain.scores[i]);
  }
}

TEST(RandomRows, StreamsDependOnSeedAndWidthOnly) {
  const RandomRows few({.rows = 2, .keys = 4, .width = 8, .seed = 3});
  const RandomRows many({.rows = 5, .keys = 4, .width = 8, .seed = 3});
  EXPECT_TRUE(std::equal(few.key.elements().begin(), few.key.elements().end(),
                         many.key.elements().begin()));
  const RandomRows other({.rows = 2, .keys = 4, .width = 8, .seed = 4});
  EXPECT_NE(few.key.elements(), other.key.elements());
  EXPECT_NE(few.query.elements()[0], few.key.elements()[0]);
  EXPECT_NE(few.query.elements()[0], few.weight_gradient.elements()[0]);
}

}  // namespace
}  // namespace softlookup
