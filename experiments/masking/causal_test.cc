#include "experiments/masking/causal.h"

#include <cmath>

#include "base/json.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

TEST(MeasureCounts, CountsTheUpperTriangle) {
  const Json counts = MeasureCounts(6);
  EXPECT_EQ(counts["positions"], Json({1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(counts["masked_entries"], Json({0, 1, 3, 6, 10, 15}));
  EXPECT_EQ(counts["largest_deviation_of_masked_from_formula"], 0);
  EXPECT_EQ(counts["largest_deviation_of_kept_from_row_number"], 0);
}

TEST(MeasureFuture, OnlyAMaskGivesExactZeros) {
  const Json future = MeasureFuture(3, {1, 2, 3, 4}).value();
  for (const char* masked : {"masked", "operator"}) {
    EXPECT_EQ(future[masked]["largest_weight"], 0) << masked;
    EXPECT_EQ(future[masked]["largest_score_gradient"], 0) << masked;
  }
  EXPECT_EQ(future["operator"]["largest_key_or_value_gradient_from_the_past"],
            0);
  EXPECT_GT(future["unmasked"]["largest_key_or_value_gradient_from_the_past"],
            0.01);
  // From a penalty of 50 to one of 100, weights shrink by e^50.
  const auto weight = [&future](double penalty) {
    for (const Json& entry : future["penalties"]) {
      if (entry["penalty"] == penalty) {
        return entry["largest_weight"].get<double>();
      }
    }
    return std::nan("");
  };
  EXPECT_NEAR(weight(-100) / weight(-50) * std::exp(50.0), 1, 1e-9);
  EXPECT_EQ(future["penalty_of_20"]["largest_weight"], weight(-20));
}

TEST(MeasureForms, AgreeExceptForAFinitePenalty) {
  const Json forms = MeasureForms(3, {1, 2, 4, 4}).value();
  for (const char* type : {"float64", "float32"}) {
    const Json& these = forms[type];
    EXPECT_EQ(these["boolean_against_added_minus_infinity"], 0) << type;
    EXPECT_EQ(these["boolean_against_added_lowest_finite"], 0) << type;
    EXPECT_EQ(these["flag_against_boolean"], 0) << type;
    EXPECT_EQ(these["boolean_against_bias_in_the_operator"], 0) << type;
    EXPECT_GT(these["boolean_against_added_minus_one"], 0.01) << type;
  }
  EXPECT_EQ(forms["pairs_that_break_true_means_attend"], 0);
  // Inverted, every pair is on the wrong side: 2 heads of 4 by 4, except that
  // the last row sees no key, so that its four weights are 0 in each head.
  EXPECT_EQ(forms["pairs_that_break_it_with_the_mask_inverted"], 2 * 16);
}

TEST(MeasurePrefixes, CausalRowsEqualTheirPrefixes) {
  const Json prefixes = MeasurePrefixes(3, {1, 2, 6, 4}).value();
  EXPECT_EQ(prefixes["positions"], 6);
  EXPECT_EQ(prefixes["causal"]["predictions_with_a_loss"], 6);
  EXPECT_EQ(prefixes["causal"]["predictions_that_equal_their_prefixes"], 6);
  EXPECT_EQ(prefixes["causal"]["largest_change_from_later_tokens"], 0);
  EXPECT_EQ(prefixes["causal"]["losses_of_one_pass"],
            prefixes["causal"]["losses_of_separate_passes"]);
  // Without the mask only the last row has read its prefix and nothing else.
  EXPECT_EQ(prefixes["unmasked"]["predictions_that_equal_their_prefixes"], 1);
  EXPECT_GT(prefixes["unmasked"]["largest_change_from_later_tokens"], 0.01);
  EXPECT_GT(prefixes["unmasked"]["largest_logit_difference"], 0.01);
}

}  // namespace
}  // namespace softlookup
