#include "experiments/multi_head/costs.h"

#include <cstdint>
#include <vector>

#include "base/json.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

TEST(CountLayerOperations, CountsByHand) {
  // d = 4, two heads of width 2, T = 3.
  const CountedLayer counted = CountLayerOperations(
      1, {.batch = 1, .positions = 3, .width = 4, .heads = 2});
  EXPECT_EQ(counted.parameters, 64);
  EXPECT_EQ(counted.one_projection, 3 * 16);
  EXPECT_EQ(counted.four_projections, 4 * 3 * 16);
  EXPECT_EQ(counted.all_scores, 2 * 9 * 2);
  EXPECT_EQ(counted.scores, (std::vector<int64_t>{4, 8, 12}));
  EXPECT_EQ(counted.averages, (std::vector<int64_t>{4, 8, 12}));
}

TEST(MeasureCosts, NothingDependsOnTheHeads) {
  const Json costs =
      MeasureCosts(1, {.batch = 2, .positions = 3, .width = 12, .heads = 2}, 64,
                   4)
          .value();
  for (const auto& [name, deviation] : costs["deviations"].items()) {
    EXPECT_EQ(deviation, 0) << name;
  }
  // 12 is a multiple of 1, 2 and 4, not of 8.
  ASSERT_EQ(costs["by_heads"].size(), 3u);
  EXPECT_EQ(costs["by_heads"][2]["head_width"], 3);
  EXPECT_EQ(costs["by_heads"][2]["multiply_adds_of_all_scores"], 9 * 12);
  EXPECT_EQ(
      costs["by_heads"][1]["flops_of_scores_and_averages_of_the_sequence"],
      4 * 12 * 6);
  EXPECT_EQ(costs["spread_of_score_multiply_adds_over_heads"], 0);
  EXPECT_EQ(costs["extra_score_multiply_adds_of_full_width_heads"], 9 * 12);
  EXPECT_EQ(costs["large"]["head_width"], 16);
  EXPECT_EQ(costs["doubling"]["positions"], 32768);
  // 2 T (T + 1) d: doubling T gives 4 - 2 / (T / 2 + 1).
  EXPECT_NEAR(costs["doubling"]["mixing_growth"].get<double>(), 4 - 2.0 / 16385,
              1e-14);
  EXPECT_EQ(costs["doubling"]["projection_growth"], 2);
}

}  // namespace
}  // namespace softlookup
