#include "experiments/masking/fused.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/json.h"
#include "base/random/random.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

TEST(MeasureFusedAgainstHand, StaysWithinTheBoundOnDrawnShapes) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    RandomStream stream(seed, "masking fused test");
    const int64_t positions = 2 + stream.UniformInt(9);
    const int64_t heads = 1 + stream.UniformInt(3);
    const int64_t width = 1 + stream.UniformInt(40);
    const Json fused =
        MeasureFusedAgainstHand(seed, {2, heads, positions, width},
                                1 + stream.UniformInt(positions - 1))
            .value();
    for (const char* type : {"float64", "float32"}) {
      EXPECT_LE(fused[type]["difference_over_bound"].get<double>(), 1)
          << "seed " << seed;
      EXPECT_GT(fused[type]["bound"].get<double>(), 0) << "seed " << seed;
    }
  }
}

TEST(MeasureSkippedWork, CountsTheTilesAboveTheDiagonal) {
  const Json skipped = MeasureSkippedWork(1, 8).value();
  const std::vector<int64_t> computed = {36, 40, 48, 64};
  ASSERT_EQ(skipped["tiles"].size(), computed.size());
  for (size_t n = 0; n < computed.size(); ++n) {
    const Json& entry = skipped["tiles"][n];
    EXPECT_EQ(entry["tile"], 1 << n);
    EXPECT_EQ(entry["tiles_per_side"], 8 >> n);
    EXPECT_EQ(entry["scores_computed"], computed[n]);
    EXPECT_EQ(entry["share_skipped"], (64 - computed[n]) / 64.0);
    EXPECT_EQ(entry["scores_computed_without_mask"], 64);
    EXPECT_EQ(entry["share_skipped_without_mask"], 0);
  }
  EXPECT_EQ(skipped["finest"]["deviation_from_half"], 0.0625);
  // 5 positions in tiles of 2: three per side, the last one smaller.
  EXPECT_EQ(MeasureSkippedWork(1, 5).value()["tiles"][1]["tiles_per_side"], 3);
}

TEST(MeasureNumericalSafety, OverflowsWhereTheLargestNumberEnds) {
  const Json safety = MeasureNumericalSafety(1);
  // ln of the largest finite numbers: 709.7827 and 88.7228.
  EXPECT_NEAR(safety["float64"]["largest_score_with_finite_exponential"],
              std::log(std::numeric_limits<double>::max()), 1e-5);
  EXPECT_NEAR(safety["float32"]["largest_score_with_finite_exponential"],
              std::log(std::numeric_limits<float>::max()), 1e-5);
  EXPECT_EQ(safety["float64"]["at_1000"]["weights_not_finite_without"], 4);
  EXPECT_EQ(safety["float64"]["at_1000"]["weights_not_finite_with"], 0);
  EXPECT_LE(safety["float64"]["difference_over_bound"], 1);
  EXPECT_LE(safety["float32"]["difference_over_bound"], 1);
  EXPECT_EQ(safety["float64"]["largest_argument_with_subtraction"], 0);
  // 1 / (1 + e^-1 + e^-2 + e^-3)
  EXPECT_NEAR(safety["float64"]["at_1000"]["first_weight_with"],
              0.64391425988797, 1e-13);
  for (const Json& entry : safety["float32"]["scores"]) {
    EXPECT_EQ(entry["weights_not_finite_without"] > 0, entry["score"] > 88);
  }
}

}  // namespace
}  // namespace softlookup
