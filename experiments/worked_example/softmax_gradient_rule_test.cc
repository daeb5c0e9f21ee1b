#include "experiments/worked_example/softmax_gradient_rule.h"

#include "gtest/gtest.h"

namespace softlookup {
namespace {

constexpr double kUnit = 0x1p-53;  // the rounding unit of double

// The rule and the complex step each sum up to 16 products of numbers that
// are, relative to the largest |g|, below 1, after outputs that summed 16
// products themselves: below 100 roundings.
constexpr double kTolerance = 100 * kUnit;

TEST(RowRule, HoldsOnDrawnRows) {
  const Json rule = MeasureRowRule({.rows = 1000, .seed = 11}).value();
  EXPECT_EQ(rule["rows"], 1000);
  // 3 to 16 keys, 9.5 on average.
  EXPECT_NEAR(rule["keys"].get<double>() / 1000, 9.5, 0.6);
  for (const char* deviation :
       {"weight_gradient_deviation", "mean_deviation", "rule_from_jacobian",
        "rule_from_complex_step", "equal_g_proportion_deviation"}) {
    EXPECT_LE(rule[deviation].get<double>(), kTolerance) << deviation;
    EXPECT_GT(rule[deviation].get<double>(), 0) << deviation;
  }
  EXPECT_EQ(rule["moves_against_g_minus_mean"], 0);
}

TEST(RowRule, ControlsFail) {
  const Json rule = MeasureRowRule({.rows = 1000, .seed = 11}).value();
  EXPECT_GT(rule["without_mean_from_complex_step"].get<double>(), 0.1);
  EXPECT_GT(rule["moves_against_g_alone"].get<int64_t>(), 500);
}

TEST(RowRule, KeysOfHardlyAnyWeightHardlyMove) {
  const Json rule = MeasureRowRule({.rows = 1000, .seed = 11}).value();
  EXPECT_GT(rule["keys_with_small_weight"].get<int64_t>(), 100);
  // |p (g - mean)| is at most p times the range of g.
  EXPECT_LE(rule["largest_move_of_small_weight"].get<double>(), 0.01);
  // p (1 - p) has its largest value at 1/2, where it is 1/4.
  EXPECT_GT(rule["largest_move_of_any_weight"].get<double>(), 0.2);
  EXPECT_LE(rule["largest_move_of_any_weight"].get<double>(),
            0.25 + kTolerance);
}

TEST(RowRule, SampleFollowsTheRule) {
  const Json rule = MeasureRowRule({.rows = 100, .seed = 2}).value();
  ASSERT_EQ(rule["sample"].size(), 300u);
  for (const Json& point : rule["sample"]) {
    EXPECT_NEAR(point[2].get<double>(),
                point[0].get<double>() * point[1].get<double>(),
                100 * kTolerance);
  }
}

TEST(RowRule, ReachesQueriesAndKeysThroughTheProducts) {
  const Json products =
      MeasureRowRule({.rows = 1, .seed = 11}).value()["products"];
  EXPECT_LE(products["query_deviation"].get<double>(), kTolerance);
  EXPECT_LE(products["key_deviation"].get<double>(), kTolerance);
  EXPECT_GT(products["largest_query_gradient"].get<double>(), 0.1);
  EXPECT_GT(products["largest_key_gradient"].get<double>(), 0.1);
}

TEST(RowRule, SeedDecidesTheDraws) {
  const auto sample = [](uint64_t seed) {
    return MeasureRowRule({.rows = 2, .seed = seed}).value()["sample"];
  };
  EXPECT_EQ(sample(1), sample(1));
  EXPECT_NE(sample(1), sample(2));
}

}  // namespace
}  // namespace softlookup
