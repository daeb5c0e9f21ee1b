#include "experiments/worked_example/score_spread.h"

#include <cmath>

#include "gtest/gtest.h"

namespace softlookup {
namespace {

TEST(ScoreSpread, StandardDeviationIsTheRootOfTheWidth) {
  const Json spread =
      MeasureScoreSpread({.widths = {3, 50}, .scores = 400, .seed = 9});
  EXPECT_EQ(spread["narrow"]["width"], 3);
  EXPECT_EQ(spread["wide"]["width"], 50);
  for (const char* which : {"narrow", "wide"}) {
    const Json& one = spread[which];
    const double width = one["width"].get<double>();
    // The kurtosis of q . k is 3 + 6 / width, so the standard error of a
    // standard deviation from 8,000 scores is this.
    const double error =
        std::sqrt(width) * std::sqrt((2 + 6 / width) / (4 * 8000));
    EXPECT_NEAR(one["standard_deviation"].get<double>(), std::sqrt(width),
                4 * error);
    // From 20 replicates it is known to a factor of about 1 +- 0.16.
    EXPECT_GT(one["standard_error"].get<double>(), error / 2);
    EXPECT_LT(one["standard_error"].get<double>(), error * 2);
  }
  const Json& ratio = spread["wide_over_narrow"];
  EXPECT_NEAR(ratio["ratio"].get<double>(), std::sqrt(50.0 / 3),
              4 * ratio["standard_error"].get<double>());
  EXPECT_GT(ratio["standard_error"].get<double>(), 0);
}

TEST(ScoreSpread, WidthOneIsAProductOfTwoNormals) {
  const Json spread =
      MeasureScoreSpread({.widths = {1, 1}, .scores = 400, .seed = 9});
  // The same stream for the same width.
  EXPECT_EQ(spread["wide_over_narrow"]["ratio"], 1.0);
  EXPECT_EQ(spread["wide_over_narrow"]["standard_error"], 0.0);
  EXPECT_NEAR(spread["narrow"]["standard_deviation"].get<double>(), 1, 0.06);
}

}  // namespace
}  // namespace softlookup
