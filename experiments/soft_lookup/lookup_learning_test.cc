#include "experiments/soft_lookup/lookup_learning.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace softlookup {
namespace {

TEST(LookupLearning, SoftLookupLearnsAndHardLookupDoesNot) {
  const LearningEffects<MeanAndRange> found =
      MeasureLookupLearning({.draws = 5, .steps = 500, .seed = 3})
          .value()
          .effects;
  EXPECT_LT(found.soft_loss_last_over_first.largest, 0.05);
  EXPECT_EQ(found.hard_loss_last_over_first.smallest, 1.0);
  EXPECT_EQ(found.hard_loss_last_over_first.largest, 1.0);
  EXPECT_EQ(found.hard_query_or_key_gradient.largest, 0.0);
  EXPECT_GT(found.soft_query_or_key_gradient.smallest, 1e-3);
  EXPECT_GT(found.soft_value_gradient.smallest, 1e-3);
  // It learns by attending to the wanted token.
  EXPECT_LT(found.soft_weight_on_wanted_before.mean, 0.5);
  EXPECT_GT(found.soft_weight_on_wanted_after.mean, 0.9);
}

TEST(LookupLearning, CurveStartsBeforeTheFirstStep) {
  const LookupLearningResults one =
      MeasureLookupLearning({.draws = 1, .steps = 1, .seed = 3}).value();
  const LookupLearningResults many =
      MeasureLookupLearning({.draws = 1, .steps = 50, .seed = 3}).value();
  const std::vector<double>& curve = many.curves_of_first_draw.soft;
  ASSERT_EQ(curve.size(), 50u);
  EXPECT_EQ(curve[0], one.curves_of_first_draw.soft[0]);
  EXPECT_LT(curve[49], curve[0]);
  // The step after the first: the loss of the second entry over the first.
  EXPECT_DOUBLE_EQ(one.effects.soft_loss_last_over_first.mean,
                   curve[1] / curve[0]);
}

// Each input in turn: W_V alone does not decide where either looks.
TEST(LookupLearning, NoNaNGetsLost) {
  RandomStream stream(5, "lookup_learning_test");
  const LearningTask task = DrawLearningTask(stream);
  for (const auto input :
       {&LearningTask::tokens, &LearningTask::query_matrix,
        &LearningTask::key_matrix, &LearningTask::value_matrix}) {
    LearningTask poisoned = task;
    (poisoned.*input)[3] = std::nan("");
    const LearningEffects<double> found =
        LearnOnce(poisoned, 2, nullptr).value();
    EXPECT_FALSE(std::isfinite(found.soft_loss_last_over_first));
    EXPECT_FALSE(std::isfinite(found.hard_loss_last_over_first));
    EXPECT_FALSE(std::isfinite(found.soft_query_or_key_gradient));
    EXPECT_FALSE(std::isfinite(found.hard_query_or_key_gradient));
    EXPECT_FALSE(std::isfinite(found.soft_value_gradient));
    EXPECT_FALSE(std::isfinite(found.soft_weight_on_wanted_after));
    EXPECT_EQ(std::isfinite(found.soft_weight_on_wanted_before),
              input == &LearningTask::value_matrix);
  }
}

}  // namespace
}  // namespace softlookup
