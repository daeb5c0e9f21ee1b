#include "experiments/masking/blind_rows.h"

#include <limits>

#include "base/json.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

TEST(MeasureFullyMasked, ThreeAnswersAndTwoRemedies) {
  // 5 positions, of which the second sequence uses the last 2.
  const Json rows = MeasureFullyMasked(5, {2, 2, 5, 4}, 2, 3).value();
  EXPECT_EQ(rows["by_hand"]["nan_positions_by_layer"], Json({3, 5, 5}));
  EXPECT_EQ(rows["by_hand"]["nan_tokens_by_layer"], Json({0, 2, 2}));
  EXPECT_EQ(rows["by_hand"]["row_nan_entries"], 4);
  EXPECT_EQ(rows["by_hand"]["row_nan_weights_without_maximum"], 5);
  EXPECT_EQ(rows["by_hand"]["row_sum_of_exponentials"], 0);
  EXPECT_GT(rows["by_hand"]["last_row_sum_of_exponentials"], 0);
  for (const char* run : {"zero", "lowest_finite", "remedy_rows_set_to_zero",
                          "remedy_pads_see_themselves"}) {
    EXPECT_EQ(rows[run]["nan_positions_by_layer"], Json({0, 0, 0})) << run;
    // Values of a few units over three layers.
    EXPECT_LE(rows[run]["tokens_against_the_sequence_alone"].get<double>(),
              1e-12)
        << run;
  }
  EXPECT_EQ(rows["zero"]["row_largest_magnitude"], 0);
  EXPECT_EQ(rows["zero"]["operator_row_largest_magnitude"], 0);
  EXPECT_EQ(rows["remedy_rows_set_to_zero"]["row_largest_magnitude"], 0);
  const Json& lowest = rows["lowest_finite"];
  EXPECT_EQ(lowest["row_weights"], Json({0.2, 0.2, 0.2, 0.2, 0.2}));
  EXPECT_EQ(lowest["row_weights_against_uniform"], 0);
  EXPECT_NEAR(lowest["row_weight_on_pads"].get<double>(), 0.6, 1e-15);
  EXPECT_EQ(lowest["last_row_weight_on_pads"], 0);
  // Five values below 4 on average: a dozen roundings.
  EXPECT_LE(lowest["row_against_average_of_all_values"].get<double>(),
            12 * 4 * 0x1p-53);
  EXPECT_GT(lowest["row_against_average_of_tokens"], 0.01);
}

TEST(MeasureAddedMasks, SumsOfLowestNumbersOverflow) {
  const Json added = MeasureAddedMasks(5, {2, 1, 4, 4}, 2).value();
  EXPECT_EQ(added["float64"]["sum_of_two"],
            -std::numeric_limits<double>::infinity());
  EXPECT_EQ(added["float32"]["sum_of_two"],
            -std::numeric_limits<double>::infinity());
  EXPECT_EQ(added["float32"]["sum_of_two_halves"], added["float32"]["lowest"]);
  EXPECT_EQ(added["one_combined_mask"]["row_weights"],
            Json({0.25, 0.25, 0.25, 0.25}));
  // Key 0 is a pad, key 1 a pad and future, keys 2 and 3 future.
  const double third = 1.0 / 3;
  EXPECT_EQ(added["causal_plus_padding"]["row_weights"],
            Json({third, 0.0, third, third}));
  EXPECT_EQ(added["causal_plus_padding"]["row_scores_at_minus_infinity"], 1);
  EXPECT_EQ(added["combined_mask_added_twice"]["row_nan_weights"], 4);
}

}  // namespace
}  // namespace softlookup
