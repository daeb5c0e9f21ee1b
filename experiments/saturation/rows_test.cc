#include "experiments/saturation/rows.h"

#include <cmath>

#include "gtest/gtest.h"

namespace softlookup {
namespace {

const Json& Found() {
  static const auto& found = *new Json(MeasureSaturation({.draws = 400,
                                                          .keys = 4,
                                                          .width = 64,
                                                          .blocks = 4,
                                                          .sweep_draws = 200,
                                                          .largest_width = 4,
                                                          .seed = 6})
                                           .value());
  return found;
}

double At(const std::string& pointer) {
  return Found().at(Json::json_pointer(pointer)).get<double>();
}

TEST(SaturationRows, UniformRow) {
  // A mean of 400 equal numbers, summed with 400 roundings.
  EXPECT_NEAR(At("/uniform/entropy/mean/value"), std::log(4.0), 1e-13);
  EXPECT_EQ(At("/uniform/largest_weight/median/value"), 0.25);
  EXPECT_EQ(At("/uniform/largest_weight/median/standard_error"), 0);
  EXPECT_LT(At("/unscaled/product_deviation"), 1e-14);
  EXPECT_GT(At("/unscaled/product_deviation"), 0);
}

TEST(SaturationRows, ScalesSetTheSpreadOfTheScores) {
  // 1,600 scores, four per query: within a tenth of sqrt(d_k), 1 and 1.
  EXPECT_NEAR(At("/unscaled/score_deviation"), 8, 0.8);
  EXPECT_NEAR(At("/scaled/score_deviation"), 1, 0.1);
  EXPECT_NEAR(At("/qk_normalised/score_deviation"), 1, 0.1);
  EXPECT_GT(At("/unscaled/largest_weight/median/value"), 0.95);
  EXPECT_LT(At("/scaled/largest_weight/median/value"), 0.7);
  EXPECT_LT(At("/unscaled/entropy/mean/value"), 0.4);
  EXPECT_GT(At("/scaled/entropy/mean/value"), 0.9);
}

TEST(SaturationRows, HistogramsHoldEveryRow) {
  for (const char* kind : {"unscaled", "scaled", "qk_normalised"}) {
    for (const char* measure : {"largest_weight", "entropy"}) {
      int64_t sum = 0;
      for (const Json& count : Found()[kind][measure]["histogram"]["counts"]) {
        sum += count.get<int64_t>();
      }
      EXPECT_EQ(sum, 400) << kind << " " << measure;
    }
  }
  EXPECT_DOUBLE_EQ(At("/scaled/entropy/histogram/high"), std::log(4.0));
}

TEST(SaturationRows, GapsInTheirOrder) {
  // The runner-up is the nearest of the others, and no further than their
  // mean; a gap of 10 is rarer for the scaled rows, whose gaps are 8 times
  // smaller.
  EXPECT_LT(At("/unscaled/gap_to_runner_up/median/value"),
            At("/unscaled/gap_to_mean_rest/median/value"));
  EXPECT_NEAR(At("/unscaled/gap_to_each/mean/value"),
              At("/unscaled/gap_to_mean_rest/mean/value"), 1e-12);
  EXPECT_NEAR(At("/unscaled/gap_to_runner_up/median/value"),
              8 * At("/scaled/gap_to_runner_up/median/value"), 1e-12);
  EXPECT_GT(At("/unscaled/gap_to_mean_rest/fraction_at_least_10/value"), 0.3);
  EXPECT_EQ(At("/scaled/gap_to_mean_rest/fraction_at_least_10/value"), 0);
}

TEST(SaturationRows, RatiosAreThoseOfTheSummaries) {
  for (const char* measure :
       {"jacobian_norm", "score_gradient", "query_gradient"}) {
    for (const char* statistic : {"mean", "median"}) {
      SCOPED_TRACE(testing::Message() << measure << " " << statistic);
      EXPECT_DOUBLE_EQ(
          Found()["unscaled_over_scaled"][measure][statistic]["value"]
              .get<double>(),
          Found()["unscaled"][measure][statistic]["value"].get<double>() /
              Found()["scaled"][measure][statistic]["value"].get<double>());
    }
  }
}

TEST(SaturationRows, WidthOneNeedsNoScale) {
  EXPECT_EQ(Found()["by_width"].size(), 3);
  EXPECT_EQ(Found()["by_width"]["1"]["unscaled"],
            Found()["by_width"]["1"]["scaled"]);
  EXPECT_EQ(At("/by_width/1/unscaled_over_scaled/score_gradient/median/value"),
            1);
  EXPECT_NEAR(At("/by_width/4/unscaled/score_deviation"), 2, 0.3);
}

TEST(SaturationRows, EnlargedEntriesSharpenUnlessNormalised) {
  // Twice the entries, four times the scores: exact in binary.
  EXPECT_DOUBLE_EQ(At("/enlarged/doubled/spread_growth"), 4);
  EXPECT_DOUBLE_EQ(At("/enlarged/quadrupled/spread_growth"), 16);
  EXPECT_DOUBLE_EQ(At("/enlarged/halved/spread_growth"), 0.25);
  EXPECT_EQ(At("/enlarged/quadrupled/qk_normalised_spread_growth"), 1);
  EXPECT_GT(At("/enlarged/doubled/entropy_lost/value"), 0.1);
  EXPECT_LT(At("/enlarged/halved/entropy_lost/value"), -0.1);
}

}  // namespace
}  // namespace softlookup
