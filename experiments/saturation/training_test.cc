#include "experiments/saturation/training.h"

#include <cmath>

#include "gtest/gtest.h"

namespace softlookup {
namespace {

constexpr TrainingComparisonOptions kOptions = {.replicates = 2,
                                                .steps = 40,
                                                .d_head = 64,
                                                .descent_rate = 3,
                                                .adam_rate = 0.02,
                                                .seed = 4};

const TrainingResults& Found() {
  static const auto& found = *new TrainingResults(MeasureTraining(kOptions));
  return found;
}

TEST(Training, UnscaledModelsStartWithTheSameScores) {
  // Scores of an untrained pair of projections: standard deviation 1 when
  // scaled, sqrt(d_k) = 8 when not. Their own spread over weights is about
  // sqrt(2 / 256) of that.
  for (const SpeedComparison* found :
       {&Found().gradient_descent, &Found().adam}) {
    const double scaled = found->scaled.curve[0].score_deviation;
    EXPECT_NEAR(scaled, 1, 0.25);
    EXPECT_NEAR(found->unscaled.curve[0].score_deviation, 8 * scaled, 1e-12);
    EXPECT_NEAR(found->unscaled_start.curve[0].score_deviation, 8 * scaled,
                1e-12);
  }
  // The same best keys, and hence the same accuracy.
  const double accuracy = Found().initial_scaled.accuracy.value;
  EXPECT_EQ(Found().initial_unscaled.accuracy.value, accuracy);
  EXPECT_EQ(Found().initial_unscaled_start.accuracy.value, accuracy);
  EXPECT_EQ(Found().chance, 1 / 16.0);
}

TEST(Training, CurvesAndStepsAgree) {
  for (const SpeedComparison* found :
       {&Found().gradient_descent, &Found().adam}) {
    for (const ModelRuns* runs :
         {&found->scaled, &found->unscaled, &found->unscaled_start}) {
      ASSERT_EQ(runs->curve.size(), 41);
      ASSERT_EQ(runs->steps_to_accuracy.size(), 2);
      for (int r = 0; r < 2; ++r) {
        EXPECT_LE(runs->steps_to_accuracy[r], 41);
        EXPECT_LE(runs->steps_to_accuracy_at_best_rate[r],
                  runs->steps_to_accuracy[r]);
      }
    }
  }
}

TEST(Training, SlowdownIsTheGeometricMeanOfSteps) {
  const SpeedComparison& adam = Found().adam;
  double product = 1;
  double best_product = 1;
  for (int r = 0; r < 2; ++r) {
    product *=
        adam.unscaled.steps_to_accuracy[r] / adam.scaled.steps_to_accuracy[r];
    best_product *= adam.unscaled.steps_to_accuracy_at_best_rate[r] /
                    adam.scaled.steps_to_accuracy_at_best_rate[r];
  }
  const double slowdown = adam.unscaled.slowdown.value;
  EXPECT_NEAR(slowdown * slowdown, product, 1e-12);
  EXPECT_GT(slowdown, 1);
  const double best = adam.unscaled.best_rate_slowdown.value;
  EXPECT_NEAR(best * best, best_product, 1e-12);
  EXPECT_EQ(adam.scaled.slowdown.value, 1);
  EXPECT_GT(adam.scaled_again.value, 0.5);
  EXPECT_LT(adam.scaled_again.value, 2);
  EXPECT_NE(adam.scaled_again.value, 1);
}

TEST(Training, ScaledModelSharpensOnlyWhereItPays) {
  const Sharpening& found = Found().sharpening;
  EXPECT_GT(found.entropy_lost_partner.value, 0.5);
  EXPECT_LT(found.entropy_lost_random.value, 0.1);
  EXPECT_GT(found.score_growth.value, 1.2);
  EXPECT_GT(found.benefit_trained.value, 0);
  EXPECT_LT(found.benefit_untrained.value, 0);
}

TEST(Training, WeightGradientsCarryTheScale) {
  // Without the scale the scores depend sqrt(d_k) = 8 times as strongly on
  // the weights. The start that is enlarged instead has its key weights
  // d_k^(1/4) times larger under the scale, hence a gradient smaller than the
  // unscaled model's by that factor.
  EXPECT_GT(Found().query_weight_gradient_ratio.value, 1);
  EXPECT_NEAR(Found().initial_unscaled.query_weight_gradient.value,
              std::sqrt(8.0) *
                  Found().initial_unscaled_start.query_weight_gradient.value,
              1e-12);
}

}  // namespace
}  // namespace softlookup
