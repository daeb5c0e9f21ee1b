#include "experiments/multi_head/hand_built_induction.h"

#include "base/json.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

TEST(MeasureIndependence, CircuitsExchangeIndependently) {
  const Json result = MeasureIndependence(3, 20).value();
  EXPECT_EQ(result["ov_exchanged"]["pattern_change"], 0);
  EXPECT_NEAR(result["ov_exchanged"]["write_change"].get<double>(), 1, 1e-6);
  EXPECT_NEAR(result["qk_exchanged"]["pattern_change"].get<double>(), 1, 1e-6);
  EXPECT_EQ(result["tokens_exchanged"]["pattern_change"], 0);
  EXPECT_GT(result["tokens_exchanged"]
                  ["pattern_change_of_a_head_that_chooses_by_token"],
            0.1);
  EXPECT_EQ(result["plain"]["positions_that_copy"], result["positions"]);
  EXPECT_EQ(result["qk_exchanged"]["positions_that_copy"], result["positions"]);
  EXPECT_EQ(result["ov_exchanged"]["positions_that_copy"], 0);
}

TEST(MeasureInduction, IntactCompletesAndBrokenDoesNot) {
  const Json result = MeasureInduction(3, 20, 60).value();
  const Json& variants = result["variants"];
  EXPECT_EQ(variants["intact"]["predicted"], "pump");
  EXPECT_NEAR(variants["intact"]["margin"].get<double>(), 1, 1e-6);
  EXPECT_NEAR(variants["intact"]["attention_to_follower"].get<double>(), 1,
              1e-6);
  EXPECT_EQ(variants["without_induction_head"]["predicted"], "(tie)");
  EXPECT_EQ(variants["without_induction_head"]["margin"], 0);
  // Blind keys: the average of 9 tokens, of which P-104 is 2.
  for (const char* broken : {"without_previous_token_head", "both_in_one_layer",
                             "in_the_wrong_order"}) {
    EXPECT_EQ(variants[broken]["predicted"], "P-104") << broken;
    EXPECT_NEAR(variants[broken]["margin"].get<double>(), -1.0 / 9, 1e-15)
        << broken;
    EXPECT_EQ(variants[broken]["key_for_repeated_token_at_follower"], 0)
        << broken;
  }
  EXPECT_LT(variants["writes_share_a_subspace"]["margin"], 0);
  const Json& drawn = result["drawn"];
  EXPECT_EQ(drawn["variants"]["intact"]["share_completed"], 1);
  // Wilson: 60 of 60 at 4 standard errors, 60 / (60 + 16) to 1.
  EXPECT_NEAR(drawn["variants"]["intact"]["share_interval"][0].get<double>(),
              60.0 / 76, 1e-12);
  EXPECT_EQ(drawn["variants"]["intact"]["share_interval"][1], 1);
  EXPECT_LT(drawn["variants"]["both_in_one_layer"]["share_completed"], 0.5);
  EXPECT_EQ(drawn["one_layer_copy"]["share_completed"], 1);
  EXPECT_EQ(drawn["one_layer_copy_ablated"]["share_completed"], 0);
  EXPECT_EQ(result["patterns"]["induction_head"].size(),
            result["sentence"].size());
  EXPECT_EQ(
      result["previous_token_head"]["positions_that_name_their_previous_token"],
      8);
  EXPECT_GT(
      result["previous_token_head"]["smallest_weight_on_previous_position"],
      0.999999);
}

}  // namespace
}  // namespace softlookup
