#include "experiments/layer_cost/mixing.h"

#include <string>

#include "gtest/gtest.h"

namespace softlookup {
namespace {

constexpr double kUnit = 0x1p-53;

TEST(Mixing, LoopAndProductGiveTheSame) {
  const Json found =
      MeasureMixing({.positions = 40, .width = 4, .seed = 2}).value();
  EXPECT_EQ(found["positions"], 40);
  EXPECT_EQ(found["steps_of_the_loop"], 40);
  // Each of 40 steps rounds a dozen times, as does the product.
  EXPECT_LT(found["deviation"].get<double>(), 40 * 24 * kUnit);
  EXPECT_GT(found["deviation"].get<double>(), 0);
  EXPECT_EQ(found["rows_alone_deviation"].get<double>(), 0);
}

TEST(Scan, LoopAndScanGiveTheSame) {
  const Json found = MeasureScan({.positions = 100, .width = 3, .seed = 2});
  EXPECT_EQ(found["steps_of_the_loop"], 100);
  EXPECT_EQ(found["rounds_of_the_scan"], 7);
  EXPECT_EQ(found["rounds_deviation"], 0);
  EXPECT_LT(found["deviation"].get<double>(), (3 * 100 + 7) * kUnit);
  EXPECT_GT(found["deviation"].get<double>(), 0);
  const Json one = MeasureScan({.positions = 1, .width = 3});
  EXPECT_EQ(one["rounds_of_the_scan"], 0);
  EXPECT_EQ(one["rounds_deviation"], 0);
  EXPECT_EQ(one["deviation"], 0.0);
}

TEST(Blocks, MemoryShrinksAndArithmeticDoesNot) {
  const Json found =
      MeasureBlocks({.positions = 24, .width = 3, .block = 4, .seed = 2})
          .value();
  EXPECT_EQ(found["whole"][0]["peak_memory"], 24 * 24);
  EXPECT_EQ(found["whole"][1]["peak_memory"], 48 * 48);
  // Scores of a block, and maximum, sum and average of its queries.
  EXPECT_EQ(found["blocked"][0]["peak_memory"], 4 * 4 + 4 * (2 + 3));
  EXPECT_EQ(found["memory_growth"]["whole"], 4.0);
  EXPECT_EQ(found["memory_growth"]["blocked"], 1.0);
  EXPECT_EQ(found["weights_deviation"], 0);
  EXPECT_LT(found["deviation"].get<double>(), (4 * 24 + 100) * kUnit);
  EXPECT_EQ(found["whole"][0]["score_multiplications"], 24 * 24 * 3);
  EXPECT_EQ(found["whole"][0]["multiplications"], 24 * 24 * (3 + 1 + 1 + 3));
  EXPECT_EQ(found["arithmetic_growth"]["whole"], 4.0);
  EXPECT_EQ(found["arithmetic_growth"]["blocked"],
            found["blocked"][1]["multiplications"].get<double>() /
                found["blocked"][0]["multiplications"].get<double>());
  EXPECT_GE(found["arithmetic_ratio"].get<double>(), 1);
  // 4 of 24 keys for each query.
  EXPECT_DOUBLE_EQ(found["windowed_arithmetic_ratio"].get<double>(), 4.0 / 24);
}

TEST(Generation, ConstantStateAndGrowingCache) {
  const Json found =
      MeasureGeneration({.positions = 10, .width = 3, .seed = 2}).value();
  ASSERT_EQ(found["recurrent_memory"].size(), 10);
  EXPECT_EQ(found["recurrent_memory"][9], 3);
  EXPECT_EQ(found["recurrent_growth"], 0);
  EXPECT_EQ(found["attention_memory"][0], 2 * 3);
  EXPECT_EQ(found["attention_memory"][9], 2 * 10 * 3);
  EXPECT_EQ(found["attention_growth"], 2 * 9 * 3);
  EXPECT_EQ(found["formula_deviation"], 0);
  EXPECT_LT(found["output_deviation"].get<double>(), 100 * kUnit);
}

}  // namespace
}  // namespace softlookup
