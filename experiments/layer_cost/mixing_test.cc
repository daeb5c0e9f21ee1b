#include "experiments/layer_cost/mixing.h"

#include "gtest/gtest.h"

namespace softlookup {
namespace {

constexpr double kUnit = 0x1p-53;

TEST(Mixing, LoopAndProductGiveTheSame) {
  const MixingResults found =
      MeasureMixing(DrawMixingInputs({.positions = 40, .width = 4, .seed = 2}))
          .value();
  EXPECT_EQ(found.positions, 40);
  EXPECT_EQ(found.steps_of_the_loop, 40);
  // Each of 40 steps rounds a dozen times, as does the product.
  EXPECT_LT(found.deviation, 40 * 24 * kUnit);
  EXPECT_GT(found.deviation, 0);
  EXPECT_EQ(found.rows_alone_deviation, 0);
}

TEST(Scan, LoopAndScanGiveTheSame) {
  const ScanResults found =
      MeasureScan(DrawScanInputs({.positions = 100, .width = 3, .seed = 2}));
  EXPECT_EQ(found.steps_of_the_loop, 100);
  EXPECT_EQ(found.rounds_of_the_scan, 7);
  EXPECT_EQ(found.rounds_deviation, 0);
  EXPECT_LT(found.deviation, (3 * 100 + 7) * kUnit);
  EXPECT_GT(found.deviation, 0);
  const ScanResults one =
      MeasureScan(DrawScanInputs({.positions = 1, .width = 3}));
  EXPECT_EQ(one.rounds_of_the_scan, 0);
  EXPECT_EQ(one.rounds_deviation, 0);
  EXPECT_EQ(one.deviation, 0.0);
}

}  // namespace
}  // namespace softlookup
