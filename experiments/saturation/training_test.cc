#include "experiments/saturation/training.h"

#include <cmath>
#include <string>

#include "gtest/gtest.h"

namespace softlookup {
namespace {

constexpr TrainingComparisonOptions kOptions = {.replicates = 2,
                                                .steps = 40,
                                                .head_width = 64,
                                                .descent_rate = 3,
                                                .adam_rate = 0.02,
                                                .seed = 4};

const Json& Found() {
  static const auto& found = *new Json(MeasureTraining(kOptions));
  return found;
}

double At(const std::string& pointer) {
  return Found().at(Json::json_pointer(pointer)).get<double>();
}

TEST(Training, UnscaledModelsStartWithTheSameScores) {
  // Scores of an untrained pair of projections: standard deviation 1 when
  // scaled, sqrt(d_k) = 8 when not. Their own spread over weights is about
  // sqrt(2 / 256) of that.
  for (const char* optimiser : {"gradient_descent", "adam"}) {
    const std::string start =
        std::string("/") + optimiser + "/%/curve/0/score_deviation";
    const auto at = [&start](const std::string& name) {
      std::string pointer = start;
      return At(pointer.replace(pointer.find('%'), 1, name));
    };
    EXPECT_NEAR(at("scaled"), 1, 0.25);
    EXPECT_NEAR(at("unscaled"), 8 * at("scaled"), 1e-12);
    EXPECT_NEAR(at("unscaled_start"), 8 * at("scaled"), 1e-12);
  }
  // The same best keys, and hence the same accuracy.
  EXPECT_EQ(At("/initial/scaled/accuracy/value"),
            At("/initial/unscaled/accuracy/value"));
  EXPECT_EQ(At("/initial/scaled/accuracy/value"),
            At("/initial/unscaled_start/accuracy/value"));
  EXPECT_EQ(At("/chance"), 1 / 16.0);
}

TEST(Training, CurvesAndStepsAgree) {
  for (const char* optimiser : {"gradient_descent", "adam"}) {
    for (const char* model : {"scaled", "unscaled", "unscaled_start"}) {
      SCOPED_TRACE(testing::Message() << optimiser << " " << model);
      const Json& found = Found()[optimiser][model];
      ASSERT_EQ(found["curve"].size(), 41);
      EXPECT_EQ(found["curve"][40]["step"], 40);
      for (int r = 0; r < 2; ++r) {
        const double steps = found["steps_to_accuracy"][r].get<double>();
        EXPECT_LE(steps, 41);
        EXPECT_LE(found["steps_to_accuracy_at_best_rate"][r].get<double>(),
                  steps);
      }
    }
  }
}

TEST(Training, SlowdownIsTheGeometricMeanOfSteps) {
  const Json& adam = Found()["adam"];
  double product = 1;
  for (int r = 0; r < 2; ++r) {
    product *= adam["unscaled"]["steps_to_accuracy"][r].get<double>() /
               adam["scaled"]["steps_to_accuracy"][r].get<double>();
  }
  const double slowdown = adam["slowdown"]["unscaled"]["value"].get<double>();
  EXPECT_NEAR(slowdown * slowdown, product, 1e-12);
  EXPECT_GT(slowdown, 1);
  const double again = adam["slowdown"]["scaled_again"]["value"].get<double>();
  EXPECT_GT(again, 0.5);
  EXPECT_LT(again, 2);
  EXPECT_NE(again, 1);
}

TEST(Training, ScaledModelSharpensOnlyWhereItPays) {
  EXPECT_GT(At("/sharpening/entropy_lost/partner/value"), 0.5);
  EXPECT_LT(At("/sharpening/entropy_lost/random/value"), 0.1);
  EXPECT_GT(At("/sharpening/score_growth/value"), 1.2);
  EXPECT_GT(At("/sharpening/benefit/trained/value"), 0);
  EXPECT_LT(At("/sharpening/benefit/untrained/value"), 0);
}

TEST(Training, WeightGradientsCarryTheScale) {
  // Without the scale the scores depend sqrt(d_k) = 8 times as strongly on
  // the weights. The start that is enlarged instead has its key weights
  // d_k^(1/4) times larger under the scale, hence a gradient smaller than the
  // unscaled model's by that factor.
  EXPECT_GT(At("/query_weight_gradient_ratio/value"), 1);
  EXPECT_NEAR(At("/initial/unscaled/query_weight_gradient/value"),
              std::sqrt(8.0) *
                  At("/initial/unscaled_start/query_weight_gradient/value"),
              1e-12);
}

}  // namespace
}  // namespace softlookup
