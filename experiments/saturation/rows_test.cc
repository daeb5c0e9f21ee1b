#include "experiments/saturation/rows.h"

#include <cmath>
#include <cstdint>
#include <numeric>

#include "base/statistics/estimate.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

const SaturationRows& Found() {
  static const auto& found =
      *new SaturationRows(MeasureSaturation({.draws = 400,
                                             .keys = 4,
                                             .width = 64,
                                             .blocks = 4,
                                             .sweep_draws = 200,
                                             .largest_width = 4,
                                             .seed = 6})
                              .value());
  return found;
}

TEST(SaturationRows, UniformRow) {
  const SaturationRows& found = Found();
  // A mean of 400 equal numbers, summed with 400 roundings.
  EXPECT_NEAR(found.uniform.entropy.mean.value, std::log(4.0), 1e-13);
  EXPECT_EQ(found.uniform.largest_weight.median.value, 0.25);
  EXPECT_EQ(found.uniform.largest_weight.median.standard_error, 0);
  EXPECT_LT(found.unscaled.product_deviation, 1e-14);
  EXPECT_GT(found.unscaled.product_deviation, 0);
}

TEST(SaturationRows, ScalesSetTheSpreadOfTheScores) {
  const SaturationRows& found = Found();
  // 1,600 scores, four per query: within a tenth of sqrt(d_k), 1 and 1.
  EXPECT_NEAR(found.unscaled.score_deviation, 8, 0.8);
  EXPECT_NEAR(found.scaled.score_deviation, 1, 0.1);
  EXPECT_NEAR(found.qk_normalised.score_deviation, 1, 0.1);
  EXPECT_GT(found.unscaled.largest_weight.median.value, 0.95);
  EXPECT_LT(found.scaled.largest_weight.median.value, 0.7);
  EXPECT_LT(found.unscaled.entropy.mean.value, 0.4);
  EXPECT_GT(found.scaled.entropy.mean.value, 0.9);
}

TEST(SaturationRows, HistogramsHoldEveryRow) {
  for (const DetailedRowSummary* rows :
       {&Found().unscaled, &Found().scaled, &Found().qk_normalised}) {
    for (const Histogram* histogram :
         {&rows->largest_weights, &rows->entropies}) {
      EXPECT_EQ(std::accumulate(histogram->counts.begin(),
                                histogram->counts.end(), int64_t{0}),
                400);
    }
    EXPECT_EQ(rows->largest_weights.high, 1);
    EXPECT_DOUBLE_EQ(rows->entropies.high, std::log(4.0));
  }
}

TEST(SaturationRows, GapsInTheirOrder) {
  const DetailedRowSummary& unscaled = Found().unscaled;
  const DetailedRowSummary& scaled = Found().scaled;
  // The runner-up is the nearest of the others, and no further than their
  // mean; a gap of 10 is rarer for the scaled rows, whose gaps are 8 times
  // smaller.
  EXPECT_LT(unscaled.gap_to_runner_up.median.value,
            unscaled.gap_to_mean_rest.median.value);
  EXPECT_NEAR(unscaled.gap_to_each.mean.value,
              unscaled.gap_to_mean_rest.mean.value, 1e-12);
  EXPECT_NEAR(unscaled.gap_to_runner_up.median.value,
              8 * scaled.gap_to_runner_up.median.value, 1e-12);
  EXPECT_GT(unscaled.gap_to_mean_rest.fraction_at_least_10.value, 0.3);
  EXPECT_EQ(scaled.gap_to_mean_rest.fraction_at_least_10.value, 0);
}

TEST(SaturationRows, RatiosAreThoseOfTheSummaries) {
  const auto expect = [](const MeanAndMedian& ratios,
                         const MeanAndMedian& unscaled,
                         const MeanAndMedian& scaled) {
    EXPECT_DOUBLE_EQ(ratios.mean.value,
                     unscaled.mean.value / scaled.mean.value);
    EXPECT_DOUBLE_EQ(ratios.median.value,
                     unscaled.median.value / scaled.median.value);
  };
  const GradientRatios& ratios = Found().unscaled_over_scaled;
  const DetailedRowSummary& unscaled = Found().unscaled;
  const DetailedRowSummary& scaled = Found().scaled;
  expect(ratios.jacobian_norm, unscaled.jacobian_norm, scaled.jacobian_norm);
  expect(ratios.score_gradient, unscaled.score_gradient, scaled.score_gradient);
  expect(ratios.query_gradient, unscaled.query_gradient, scaled.query_gradient);
}

TEST(SaturationRows, WidthOneNeedsNoScale) {
  ASSERT_EQ(Found().by_width.size(), 3);
  const RowsAtWidth& one = Found().by_width[0];
  EXPECT_EQ(one.width, 1);
  EXPECT_EQ(one.unscaled.score_deviation, one.scaled.score_deviation);
  EXPECT_EQ(one.unscaled.entropy.mean.value, one.scaled.entropy.mean.value);
  EXPECT_EQ(one.unscaled.largest_weight.median.standard_error,
            one.scaled.largest_weight.median.standard_error);
  EXPECT_EQ(one.unscaled_over_scaled.score_gradient.median.value, 1);
  EXPECT_EQ(Found().by_width[2].width, 4);
  EXPECT_NEAR(Found().by_width[2].unscaled.score_deviation, 2, 0.3);
}

TEST(SaturationRows, EnlargedEntriesSharpenUnlessNormalised) {
  ASSERT_EQ(Found().enlarged.size(), 3);
  const EnlargedRows& halved = Found().enlarged[0];
  const EnlargedRows& doubled = Found().enlarged[1];
  const EnlargedRows& quadrupled = Found().enlarged[2];
  EXPECT_EQ(doubled.name, "doubled");
  // Twice the entries, four times the scores: exact in binary.
  EXPECT_DOUBLE_EQ(doubled.spread_growth, 4);
  EXPECT_DOUBLE_EQ(quadrupled.spread_growth, 16);
  EXPECT_DOUBLE_EQ(halved.spread_growth, 0.25);
  EXPECT_EQ(quadrupled.qk_normalised_spread_growth, 1);
  EXPECT_GT(doubled.entropy_lost.value, 0.1);
  EXPECT_LT(halved.entropy_lost.value, -0.1);
}

}  // namespace
}  // namespace softlookup
