#include "experiments/soft_lookup/lookup_learning.h"

#include "gtest/gtest.h"

namespace softlookup {
namespace {

TEST(LookupLearning, SoftLookupLearnsAndHardLookupDoesNot) {
  const Json json =
      MeasureLookupLearning({.draws = 5, .steps = 500, .seed = 3}).value();
  EXPECT_LT(json["soft_loss_last_over_first"]["range"][1].get<double>(), 0.05);
  EXPECT_EQ(json["hard_loss_last_over_first"]["range"][0], 1.0);
  EXPECT_EQ(json["hard_loss_last_over_first"]["range"][1], 1.0);
  EXPECT_EQ(json["hard_query_or_key_gradient"]["range"][1], 0.0);
  EXPECT_GT(json["soft_query_or_key_gradient"]["range"][0].get<double>(), 1e-3);
  EXPECT_GT(json["soft_value_gradient"]["range"][0].get<double>(), 1e-3);
  // It learns by attending to the wanted token.
  EXPECT_LT(json["soft_weight_on_wanted_before"]["mean"].get<double>(), 0.5);
  EXPECT_GT(json["soft_weight_on_wanted_after"]["mean"].get<double>(), 0.9);
}

TEST(LookupLearning, CurveStartsBeforeTheFirstStep) {
  const Json one =
      MeasureLookupLearning({.draws = 1, .steps = 1, .seed = 3}).value();
  const Json many =
      MeasureLookupLearning({.draws = 1, .steps = 50, .seed = 3}).value();
  const Json& curve = many["loss_curve_of_first_draw"]["soft"];
  ASSERT_EQ(curve.size(), 50u);
  EXPECT_EQ(curve[0], one["loss_curve_of_first_draw"]["soft"][0]);
  EXPECT_LT(curve[49].get<double>(), curve[0].get<double>());
  // The step after the first: the loss of the second entry over the first.
  EXPECT_DOUBLE_EQ(one["soft_loss_last_over_first"]["mean"].get<double>(),
                   curve[1].get<double>() / curve[0].get<double>());
}

}  // namespace
}  // namespace softlookup
