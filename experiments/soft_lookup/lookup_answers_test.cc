#include "experiments/soft_lookup/lookup_answers.h"

#include <cmath>
#include <string>

#include "gtest/gtest.h"

namespace softlookup {
namespace {

constexpr double kUnit = 0x1p-53;  // the rounding unit of double

// Ten roundings of numbers below 4.
constexpr double kTolerance = 10 * 4 * kUnit;

TEST(LookupAnswers, Hard) {
  const HardAnswers hard = MeasureHard(ChapterTable());
  EXPECT_EQ(hard.hit_found, 1);
  EXPECT_EQ(hard.hit_value, (Vector2{3, 3}));
  EXPECT_EQ(hard.miss_found, 0);
  EXPECT_EQ(hard.near_misses_found, 0);
  EXPECT_GE(hard.near_misses.size(), 3u);
}

TEST(LookupAnswers, Soft) {
  const SoftAnswers soft = MeasureSoft(ChapterTable(), {1, 1}).value();
  const double a = std::exp(std::sqrt(0.5));
  EXPECT_NEAR(soft.weights[2], a / (2 + a), kTolerance);
  EXPECT_NEAR(soft.smallest_weight, 1 / (2 + a), kTolerance);
  EXPECT_NEAR(soft.scaled_scores[2], std::sqrt(2.0), kTolerance);
  EXPECT_LE(soft.weight_sum_deviation, kTolerance);
  EXPECT_LE(soft.output_from_weighted_average, kTolerance);
  EXPECT_EQ(soft.order.violations, 0);
  EXPECT_GT(soft.order.violations_with_reversed_scores, 360);
  EXPECT_EQ(soft.partial_match.hard_keys_found, 0);
  EXPECT_EQ(soft.partial_match.soft_keys_with_weight, 3);
  EXPECT_LE(soft.equal_scores.largest_weight_deviation, kTolerance);
  // The query between the keys: scores 1, 0.5 and 1.5.
  EXPECT_NEAR(
      std::log(soft.partial_match.weights[2] / soft.partial_match.weights[1]),
      std::sqrt(0.5), kTolerance);
}

TEST(LookupAnswers, Factors) {
  const FactorResults factor =
      MeasureFactors(ChapterTable(), {1, 1}, 10000, 4).value();
  // 0 and 0.01 to 10,000: six decades of four and the last.
  ASSERT_EQ(factor.sweep.size(), 1u + 6 * 4 + 1);
  EXPECT_EQ(factor.sweep[1].factor, 0.01);
  EXPECT_EQ(factor.sweep[9].factor, 1.0);
  EXPECT_NEAR(factor.sweep[10].factor, std::pow(10.0, 0.25), 8 * kUnit);
  EXPECT_EQ(factor.sweep.back().factor, 10000.0);
  EXPECT_EQ(factor.sweep.back().distance_to_hard, 0.0);
  EXPECT_LE(factor.sweep.front().distance_to_mean, kTolerance);
  EXPECT_NEAR(factor.sweep.front().output[1], 5.0 / 3, kTolerance);
  EXPECT_EQ(factor.zero_weight_deviations.size(), 3u);
  EXPECT_NEAR(factor.ten.weights[0], 1 / (2 + std::exp(10 * std::sqrt(0.5))),
              kTolerance);
  EXPECT_EQ(factor.best_key, "tank");
  EXPECT_GE(factor.smallest_rise_of_best_weight, 0);
  EXPECT_LT(factor.smallest_rise_of_another_weight, -0.01);
}

TEST(LookupAnswers, LargestFactorEndsTheSweep) {
  for (const double largest : {1.0, 9.99}) {
    const FactorResults factor =
        MeasureFactors(ChapterTable(), {1, 1}, largest, 1).value();
    EXPECT_EQ(factor.sweep.back().factor, 1.0);
  }
}

TEST(LookupAnswers, Overflow) {
  const OverflowResults overflow = MeasureOverflow(ChapterTable(), {1, 1});
  EXPECT_EQ(overflow.not_finite_with_subtraction, 0);
  EXPECT_EQ(overflow.not_finite_without_subtraction, 3);
  EXPECT_LE(overflow.change_by_subtraction_at_factor_1, kTolerance);
}

// Each number of the query and of the table in turn, and what depends on it.
TEST(LookupAnswers, NoNaNGetsLost) {
  const struct {
    std::string name;
    bool query;
    Vector2 LookupEntry::*number;
  } inputs[] = {{"query", true, nullptr},
                {"key", false, &LookupEntry::key},
                {"value", false, &LookupEntry::value}};
  for (const auto& [name, of_query, number] : inputs) {
    const bool of_value = number == &LookupEntry::value;
    for (size_t n = 0; n < (of_query ? 2 : 6); ++n) {
      SCOPED_TRACE(testing::Message() << name << " " << n);
      LookupTable table = ChapterTable();
      Vector2 query = {1, 1};
      (of_query ? query : table[n / 2].*number)[n % 2] = std::nan("");
      const SoftAnswers soft = MeasureSoft(table, query).value();
      EXPECT_FALSE(std::isfinite(soft.output_from_weighted_average));
      EXPECT_EQ(std::isfinite(soft.weight_sum_deviation), of_value);
      // Those of the query 0.
      EXPECT_EQ(std::isfinite(soft.equal_scores.largest_weight_deviation),
                of_value || of_query);
      const FactorResults factor =
          MeasureFactors(table, query, 10000, 1).value();
      EXPECT_FALSE(std::isfinite(factor.sweep.back().distance_to_hard));
      EXPECT_FALSE(std::isfinite(factor.ten.distance_to_hard));
      EXPECT_FALSE(std::isfinite(factor.hundredth.distance_to_mean));
      for (const double deviation : factor.zero_weight_deviations) {
        EXPECT_EQ(std::isfinite(deviation), of_value);
      }
      EXPECT_EQ(std::isfinite(factor.smallest_rise_of_best_weight), of_value);
      EXPECT_EQ(
          std::isfinite(
              MeasureOverflow(table, query).change_by_subtraction_at_factor_1),
          of_value);
    }
  }
}

}  // namespace
}  // namespace softlookup
