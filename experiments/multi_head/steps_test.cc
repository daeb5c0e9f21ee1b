#include "experiments/multi_head/steps.h"

#include "base/json.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

const Json& Steps() {
  static const Json& steps = *new Json(
      MeasureSteps(1, {.batch = 2, .positions = 3, .width = 20, .heads = 5})
          .value());
  return steps;
}

TEST(MeasureSteps, ShapesAndStridesOfEveryLine) {
  const Json& steps = Steps()["steps"];
  EXPECT_EQ(steps["projected"]["shape"], "(B, T, d)");
  EXPECT_EQ(steps["split"]["sizes"], Json({2, 3, 5, 4}));
  EXPECT_EQ(steps["split"]["strides"], Json({60, 20, 4, 1}));
  EXPECT_EQ(steps["by_head"]["shape"], "(B, h, T, dk)");
  EXPECT_EQ(steps["by_head"]["strides"], Json({60, 4, 20, 1}));
  EXPECT_EQ(steps["scores"]["shape"], "(B, h, T, T)");
  EXPECT_EQ(steps["weights"]["sizes"], Json({2, 5, 3, 3}));
  EXPECT_EQ(steps["averages"]["strides"], Json({60, 12, 4, 1}));
  EXPECT_EQ(steps["averages_by_position"]["sizes"], Json({2, 3, 5, 4}));
  EXPECT_EQ(steps["averages_by_position"]["strides"], Json({60, 4, 12, 1}));
  EXPECT_EQ(steps["merged"]["shape"], "(B, T, d)");
  EXPECT_EQ(steps["output"]["shape"], "(B, T, d)");
}

TEST(MeasureSteps, OnlyTheMergeMovesData) {
  const Json& steps = Steps()["steps"];
  for (const char* view : {"split", "by_head", "averages_by_position"}) {
    EXPECT_EQ(steps[view]["elements_moved"], 0) << view;
  }
  EXPECT_EQ(steps["merged"]["elements_moved"], 2 * 3 * 20);
  EXPECT_EQ(steps["split"]["contiguous"], 1);
  EXPECT_EQ(steps["by_head"]["contiguous"], 0);
  EXPECT_EQ(steps["averages_by_position"]["contiguous"], 0);
  const Json& merge = Steps()["merge"];
  EXPECT_EQ(merge["transposed_heads_merge_as_a_view"], 0);
  EXPECT_EQ(merge["split_heads_merge_as_a_view"], 1);
  EXPECT_EQ(merge["reshape_of_averages_copies_elements"], 120);
  EXPECT_EQ(merge["reshape_of_split_projection_copies_elements"], 0);
  EXPECT_EQ(merge["transposed_heads_split_in_halves_as_a_view"], 1);
}

TEST(MeasureSteps, AgreesWithTheOperator) {
  EXPECT_LE(Steps()["operator"]["difference_over_bound"], 1);
  EXPECT_GT(Steps()["operator"]["bound"], 0);
  // Loose, but far from what a wrong head order would give.
  EXPECT_LT(Steps()["operator"]["bound"], 1e-10);
  EXPECT_EQ(Steps()["queries_of_column_block_difference"], 0);
  EXPECT_EQ(Steps()["score_matrices_in_one_product"], 10);
  EXPECT_EQ(Steps()["distributions_per_query"], 5);
  // 3 quotients and 2 additions, in the sum and in the denominator.
  EXPECT_LE(Steps()["row_sum_deviation"], 6 * 0x1p-53);
  EXPECT_EQ(Steps()["blocks"]["W_O of a head"]["shape"], "(dk, d)");
  EXPECT_EQ(Steps()["blocks"]["W_Q of a head"]["sizes"], Json({20, 4}));
}

}  // namespace
}  // namespace softlookup
