#include "experiments/soft_lookup/lookup_slopes.h"

#include <cmath>

#include "gtest/gtest.h"

namespace softlookup {
namespace {

TEST(LookupSlopes, PathJumpsTwiceWhereTheSoftAnswerGlides) {
  const PathResults path = MeasurePath(ChapterTable(), 400).value();
  EXPECT_EQ(path.steps, 399);
  EXPECT_EQ(path.hard_jumps, 2);
  EXPECT_EQ(path.hard_steps_without_change, 397);
  EXPECT_EQ(path.soft_steps_without_change, 0);
  // From value (1, 0) to (3, 3) and from there to (0, 2).
  EXPECT_EQ(path.hard_smallest_jump, 3.0);
  EXPECT_LT(path.soft_largest_step, 0.02);
  EXPECT_GT(path.soft_smallest_slope, 0.1);
  EXPECT_LE(path.soft_slope_against_difference, 1e-8);
  EXPECT_NEAR(path.degrees[0], -45, 1e-12);
  EXPECT_NEAR(path.degrees[399], 135, 1e-12);
}

TEST(LookupSlopes, AtTheQuery) {
  const SlopeResults slopes = MeasureSlopes(ChapterTable(), {1, 1}).value();
  EXPECT_EQ(slopes.hard_query, 0.0);
  // The worked example's row 3: 0.3523 for the query.
  EXPECT_NEAR(slopes.soft_query, 0.3523, 5e-5);
  EXPECT_NEAR(slopes.soft_keys, 0.3535, 5e-5);
  EXPECT_NEAR(slopes.soft_values, 0.5035, 5e-5);
  EXPECT_LE(slopes.query_against_difference, 1e-9);
  EXPECT_LE(slopes.keys_against_difference, 1e-9);
  EXPECT_LE(slopes.values_against_difference, 1e-9);
  // At a tie the hard answer jumps: from (1, 0) to (3, 3) over 2e-6.
  EXPECT_GT(MeasureSlopes(ChapterTable(), {1, 0}).value().hard_query, 1e6);
}

// Each number of the query and of the table in turn.
TEST(LookupSlopes, NoNaNGetsLost) {
  for (int n = 0; n < 14; ++n) {
    SCOPED_TRACE(n);
    LookupTable table = ChapterTable();
    Vector2 query = {1, 1};
    double& number = n < 2   ? query[n]
                     : n < 8 ? table[(n - 2) / 2].key[n % 2]
                             : table[(n - 8) / 2].value[n % 2];
    number = std::nan("");
    const SlopeResults slopes = MeasureSlopes(table, query).value();
    EXPECT_FALSE(std::isfinite(slopes.query_against_difference));
    EXPECT_FALSE(std::isfinite(slopes.keys_against_difference));
    EXPECT_FALSE(std::isfinite(slopes.values_against_difference));
    if (n < 2) continue;  // the path has queries of its own
    const PathResults path = MeasurePath(table, 5).value();
    EXPECT_FALSE(std::isfinite(path.soft_slope_against_difference));
    EXPECT_FALSE(std::isfinite(path.soft_largest_step));
  }
}

}  // namespace
}  // namespace softlookup
