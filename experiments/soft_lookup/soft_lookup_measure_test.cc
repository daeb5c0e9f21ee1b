#include "experiments/soft_lookup/soft_lookup_measure.h"

#include <cmath>

#include "gtest/gtest.h"

namespace softlookup {
namespace {

constexpr double kUnit = 0x1p-53;  // the rounding unit of double

// Ten roundings of numbers below 4.
constexpr double kTolerance = 10 * 4 * kUnit;

TEST(SoftLookupMeasure, Hard) {
  const Json hard = MeasureHard();
  EXPECT_EQ(hard["hit"]["found"], 1);
  EXPECT_EQ(hard["hit"]["value"].dump(), "[3.0,3.0]");
  EXPECT_EQ(hard["miss"]["found"], 0);
  EXPECT_EQ(hard["near_misses"]["found"], 0);
  EXPECT_GE(hard["near_misses"]["queries"].size(), 3u);
  EXPECT_EQ(DescribeEntries()[1].dump(),
            "{\"name\":\"valve\",\"key\":[0.0,1.0],\"value\":[0.0,2.0]}");
}

TEST(SoftLookupMeasure, Soft) {
  const Json soft = MeasureSoft({1, 1}).value();
  const double a = std::exp(std::sqrt(0.5));
  EXPECT_NEAR(soft["weights"][2].get<double>(), a / (2 + a), kTolerance);
  EXPECT_NEAR(soft["smallest_weight"].get<double>(), 1 / (2 + a), kTolerance);
  EXPECT_NEAR(soft["scaled_scores"][2].get<double>(), std::sqrt(2.0),
              kTolerance);
  EXPECT_LE(soft["weight_sum_deviation"].get<double>(), kTolerance);
  EXPECT_LE(soft["output_from_weighted_average"].get<double>(), kTolerance);
  EXPECT_EQ(soft["order"]["violations"], 0);
  EXPECT_GT(soft["order"]["violations_with_reversed_scores"].get<int>(), 360);
  EXPECT_EQ(soft["partial_match"]["hard_keys_found"], 0);
  EXPECT_EQ(soft["partial_match"]["soft_keys_with_weight"], 3);
  EXPECT_LE(soft["equal_scores"]["largest_weight_deviation"].get<double>(),
            kTolerance);
  // The query between the keys: scores 1, 0.5 and 1.5.
  const Json& partial = soft["partial_match"]["weights"];
  EXPECT_NEAR(std::log(partial[2].get<double>() / partial[1].get<double>()),
              std::sqrt(0.5), kTolerance);
}

TEST(SoftLookupMeasure, Factors) {
  const Json factor = MeasureFactors({1, 1}, 10000, 4).value();
  // 0 and 0.01 to 10,000: six decades of four and the last.
  ASSERT_EQ(factor["sweep"].size(), 1u + 6 * 4 + 1);
  EXPECT_EQ(factor["sweep"][1]["factor"], 0.01);
  EXPECT_EQ(factor["sweep"][9]["factor"], 1.0);
  EXPECT_EQ(factor["largest"]["factor"], 10000.0);
  EXPECT_NEAR(factor["sweep"][10]["factor"].get<double>(), std::pow(10.0, 0.25),
              8 * kUnit);
  EXPECT_EQ(factor["largest"]["distance_to_hard"], 0.0);
  EXPECT_LE(factor["zero"]["distance_to_mean"].get<double>(), kTolerance);
  EXPECT_NEAR(factor["zero"]["output"][1].get<double>(), 5.0 / 3, kTolerance);
  EXPECT_NEAR(factor["ten"]["weights"][0].get<double>(),
              1 / (2 + std::exp(10 * std::sqrt(0.5))), kTolerance);
  EXPECT_EQ(factor["best_key"], "tank");
  EXPECT_GE(factor["smallest_rise_of_best_weight"].get<double>(), 0);
  EXPECT_LT(factor["smallest_rise_of_another_weight"].get<double>(), -0.01);
}

TEST(SoftLookupMeasure, LargestFactorEndsTheSweep) {
  EXPECT_EQ(MeasureFactors({1, 1}, 1, 1).value()["largest"]["factor"], 1.0);
  EXPECT_EQ(MeasureFactors({1, 1}, 9.99, 1).value()["largest"]["factor"], 1.0);
}

TEST(SoftLookupMeasure, Overflow) {
  const Json overflow = MeasureOverflow({1, 1});
  EXPECT_EQ(overflow["not_finite_with_subtraction"], 0);
  EXPECT_EQ(overflow["not_finite_without_subtraction"], 3);
  EXPECT_LE(overflow["change_by_subtraction_at_factor_1"].get<double>(),
            kTolerance);
}

TEST(SoftLookupMeasure, PathJumpsTwiceWhereTheSoftAnswerGlides) {
  const Json path = MeasurePath(400).value();
  EXPECT_EQ(path["steps"], 399);
  EXPECT_EQ(path["hard_jumps"], 2);
  EXPECT_EQ(path["hard_steps_without_change"], 397);
  EXPECT_EQ(path["soft_steps_without_change"], 0);
  // From value (1, 0) to (3, 3) and from there to (0, 2).
  EXPECT_EQ(path["hard_smallest_jump"], 3.0);
  EXPECT_LT(path["soft_largest_step"].get<double>(), 0.02);
  EXPECT_GT(path["soft_smallest_slope"].get<double>(), 0.1);
  EXPECT_LE(path["soft_slope_against_difference"].get<double>(), 1e-8);
  EXPECT_NEAR(path["degrees"][0].get<double>(), -45, 1e-12);
  EXPECT_NEAR(path["degrees"][399].get<double>(), 135, 1e-12);
}

TEST(SoftLookupMeasure, Gradients) {
  const Json gradients = MeasureGradients({1, 1}).value();
  EXPECT_EQ(gradients["hard_query"], 0.0);
  // The worked example's row 3: 0.3523 for the query.
  EXPECT_NEAR(gradients["soft_query"].get<double>(), 0.3523, 5e-5);
  EXPECT_NEAR(gradients["soft_keys"].get<double>(), 0.3535, 5e-5);
  EXPECT_NEAR(gradients["soft_values"].get<double>(), 0.5035, 5e-5);
  for (const char* name :
       {"query_against_difference", "keys_against_difference",
        "values_against_difference"}) {
    EXPECT_LE(gradients[name].get<double>(), 1e-9) << name;
  }
  // At a tie the hard answer jumps: from (1, 0) to (3, 3) over 2e-6.
  EXPECT_GT(MeasureGradients({1, 0}).value()["hard_query"].get<double>(), 1e6);
}

}  // namespace
}  // namespace softlookup
