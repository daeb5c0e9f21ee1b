#include "experiments/soft_lookup/lookup_table.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

using ::testing::ElementsAre;

constexpr double kUnit = 0x1p-53;  // the rounding unit of double

TEST(LookupTable, StackedRows) {
  EXPECT_THAT(StackedKeys(ChapterTable()).elements(),
              ElementsAre(1, 0, 0, 1, 1, 1));
  EXPECT_THAT(StackedValues(ChapterTable()).elements(),
              ElementsAre(1, 0, 0, 2, 3, 3));
}

TEST(LookupTable, HardLookupNeedsAnEqualKey) {
  EXPECT_EQ(HardLookup(ChapterTable(), "tank"), (Vector2{3, 3}));
  EXPECT_EQ(HardLookup(ChapterTable(), "valve"), (Vector2{0, 2}));
  EXPECT_FALSE(HardLookup(ChapterTable(), "Tank").has_value());
  EXPECT_FALSE(HardLookup(ChapterTable(), "").has_value());
  EXPECT_EQ(HardLookup(ChapterTable(), Vector2{1, 1}), (Vector2{3, 3}));
  EXPECT_EQ(HardLookup(ChapterTable(), Vector2{1, 0}), (Vector2{1, 0}));
  EXPECT_FALSE(HardLookup(ChapterTable(), Vector2{1, 0.999}).has_value());
}

TEST(LookupTable, BestKey) {
  EXPECT_THAT(LookupScores(ChapterTable(), {2, -3}), ElementsAre(2, -3, -1));
  EXPECT_EQ(BestKey(ChapterTable(), {2, -3}), 0u);
  EXPECT_EQ(BestKey(ChapterTable(), {-1, 2}), 1u);
  EXPECT_EQ(BestKey(ChapterTable(), {0.1, 0.1}), 2u);
  EXPECT_EQ(BestKey(ChapterTable(), {0, 0}), 0u);
  // A tie of pump and tank: the first.
  EXPECT_EQ(BestKey(ChapterTable(), {1, 0}), 0u);
}

TEST(LookupTable, SoftLookupInClosedForm) {
  // Scores 1, 1, 2 over sqrt 2 times the factor sqrt(2) log 2: odds 1, 1, 2.
  const auto answer =
      SoftLookup(ChapterTable(), {1, 1}, std::sqrt(2.0) * std::log(2.0))
          .value();
  EXPECT_NEAR(answer.weights[0], 0.25, 8 * kUnit);
  EXPECT_NEAR(answer.weights[1], 0.25, 8 * kUnit);
  EXPECT_NEAR(answer.weights[2], 0.5, 8 * kUnit);
  EXPECT_NEAR(answer.output[0], 0.25 + 1.5, 32 * kUnit);
  EXPECT_NEAR(answer.output[1], 0.5 + 1.5, 32 * kUnit);
  // dS of component 2: p (g - 2) with g = (0, 2, 3): -1/2, 0, 1/2; the factor
  // log 2 carries it to the query: (-k_1 + k_3) / 2 and to the keys.
  EXPECT_NEAR(answer.query_gradients[1](0, 0), 0, 32 * kUnit);
  EXPECT_NEAR(answer.query_gradients[1](0, 1), std::log(2.0) / 2, 32 * kUnit);
  EXPECT_NEAR(answer.key_gradients[1](2, 0), std::log(2.0) / 2, 32 * kUnit);
  EXPECT_NEAR(answer.key_gradients[1](0, 1), -std::log(2.0) / 2, 32 * kUnit);
  EXPECT_NEAR(answer.value_gradients[1](2, 1), 0.5, 8 * kUnit);
  EXPECT_EQ(answer.value_gradients[1](2, 0), 0.0);
  // Component 1: g = (1, 0, 3), mean 1.75: dS = -3/16, -7/16, 10/16.
  EXPECT_NEAR(answer.query_gradients[0](0, 1), 3.0 / 16 * std::log(2.0),
              32 * kUnit);
}

TEST(LookupTable, SoftLookupOnGivenKeysAndValues) {
  Tensor<double> values = StackedValues(ChapterTable());
  values(2, 0) = 7;
  Tensor<double> keys({3, 2}, {0, 0, 0, 0, 0, 0});
  const auto answer = SoftLookup(keys, values, {1, 1}, 1).value();
  EXPECT_NEAR(answer.output[0], 8.0 / 3, 32 * kUnit);
}

TEST(LookupTable, LargestGap) {
  EXPECT_EQ(LargestGap({1, 5}, {2, 3}), 2.0);
  EXPECT_EQ(LargestGap({1, 5}, {-3, 4}), 4.0);
  EXPECT_TRUE(std::isnan(LargestGap({std::nan(""), 5}, {2, 3})));
  EXPECT_TRUE(std::isnan(LargestGap({1, 5}, {2, std::nan("")})));
}

}  // namespace
}  // namespace softlookup
