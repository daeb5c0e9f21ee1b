#include "experiments/worked_example/backward.h"

#include <cmath>
#include <string>

#include "base/tensor/matrix.h"
#include "experiments/worked_example/pytorch_values.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

constexpr double kUnit = 0x1p-53;  // the rounding unit of double

// Twenty roundings of numbers below 4.
constexpr double kTolerance = 20 * 4 * kUnit;

Tensor<double> Matrix(const Json& lists) {
  return MatrixFromLists(lists).value();
}

TEST(WorkedExampleBackward, HandPassAsAutogradHasIt) {
  const Json values = WorkedExampleReference().value()["values"];
  const WorkedExample example = ChapterExample();
  // One loss that touches the last row alone, and one that touches all.
  for (const char* name : {"gradients", "gradients_of_all_rows",
                           "gradients_of_all_rows_unmasked"}) {
    SCOPED_TRACE(name);
    const Json& theirs = values[name];
    const bool causal = std::string(name) != "gradients_of_all_rows_unmasked";
    const BoardCase board = ComputeBoardCase(example, causal, true).value();
    const HandBackward hand = ComputeHandBackward(
        example, board.head.weights, std::sqrt(0.5), Matrix(theirs["output"]));
    EXPECT_LE(LargestDifference(hand.weights, Matrix(theirs["weights"])),
              kTolerance);
    EXPECT_LE(LargestDifference(hand.scores, Matrix(theirs["scores"])),
              kTolerance);
    EXPECT_LE(LargestDifference(hand.query, Matrix(theirs["query"])),
              kTolerance);
    EXPECT_LE(LargestDifference(hand.key, Matrix(theirs["key"])), kTolerance);
    EXPECT_LE(LargestDifference(hand.value, Matrix(theirs["value"])),
              kTolerance);
  }
}

TEST(WorkedExampleBackward, EveryConfirmationAgrees) {
  const Json backward = MeasureBackward(ChapterExample(), {}).value();
  const Json& deviations = backward["deviations"];
  for (const char* name : {"weights", "scores", "query", "key", "value"}) {
    SCOPED_TRACE(name);
    EXPECT_LE(deviations["complex_step"][name].get<double>(), kTolerance);
    // Rounding 4 ulp of 2 over 2 steps of 2^-17, truncation below h^2.
    EXPECT_LE(deviations["central_difference"][name].get<double>(), 3e-10);
    EXPECT_LE(deviations["pytorch"]["gradients"][name].get<double>(),
              kTolerance);
  }
  for (const char* name : {"scores", "query", "key", "value"}) {
    EXPECT_LE(deviations["reference"][name].get<double>(), kTolerance) << name;
  }
  ASSERT_EQ(deviations["pytorch"]["forward"].size(), 4u);
  for (const Json& difference : deviations["pytorch"]["forward"]) {
    EXPECT_LE(difference.get<double>(), kTolerance);
  }
}

TEST(WorkedExampleBackward, EveryLossIsConfirmedOnOtherInputs) {
  WorkedExample example = ChapterExample();
  example.key(0, 1) = -0.75;
  example.value(2, 0) = -2.5;
  for (int64_t token = 1; token <= 3; ++token) {
    for (int64_t component = 1; component <= 2; ++component) {
      SCOPED_TRACE(testing::Message() << token << ", " << component);
      const Json backward =
          MeasureBackward(example, {token, component}).value();
      const Json& deviations = backward["deviations"];
      for (const char* name : {"weights", "scores", "query", "key", "value"}) {
        EXPECT_LE(deviations["complex_step"][name].get<double>(), kTolerance);
        EXPECT_LE(deviations["central_difference"][name].get<double>(), 3e-10);
      }
      // PyTorch was asked about other inputs.
      EXPECT_TRUE(deviations["pytorch"].is_null());
      EXPECT_EQ(backward["nudges"]["scores"].size(),
                static_cast<size_t>(token));
    }
  }
}

TEST(WorkedExampleBackward, AnotherLossIsNotComparedWithPyTorch) {
  for (const ExampleLoss loss : {ExampleLoss{2, 2}, ExampleLoss{3, 1}}) {
    EXPECT_TRUE(MeasureBackward(ChapterExample(), loss)
                    .value()["deviations"]["pytorch"]
                    .is_null());
  }
}

TEST(WorkedExampleBackward, RowAndPulls) {
  const Json backward = MeasureBackward(ChapterExample(), {}).value();
  EXPECT_EQ(backward["output_gradients"].dump(),
            "[[0.0,0.0],[0.0,0.0],[0.0,1.0]]");
  EXPECT_EQ(backward["weight_gradients"][2].dump(), "[0.0,2.0,3.0]");
  const double a = std::exp(std::sqrt(0.5));
  const double mean = (2 + 3 * a) / (2 + a);
  const Json& row = backward["row"];
  EXPECT_NEAR(backward["mean_weight_gradients"][2].get<double>(), mean,
              kTolerance);
  EXPECT_NEAR(row["above_mean"][0].get<double>(), -mean, kTolerance);
  EXPECT_NEAR(row["distance_from_mean"][0].get<double>(), mean, kTolerance);
  EXPECT_NEAR(row["above_mean"][2].get<double>(), 3 - mean, kTolerance);
  EXPECT_EQ(row["share_of_largest"][2], 1.0);
  EXPECT_NEAR(row["share_of_largest"][1].get<double>(),
              (mean - 2) / (a * (3 - mean)), 8 * kTolerance);
  EXPECT_EQ(row["largest_score_gradient_in_other_rows"], 0.0);
  EXPECT_NEAR(row["query_gradient_sizes"][1].get<double>(), 0.3523, 5e-5);
  // Component 1 pulls on keys 1 and 3, component 2 on keys 2 and 3.
  const Json& pulls = backward["query_pulls"];
  EXPECT_NEAR(pulls[0][0].get<double>(), -mean / (2 + a), kTolerance);
  EXPECT_EQ(std::abs(pulls[0][1].get<double>()), 0.0);
  EXPECT_EQ(std::abs(pulls[1][0].get<double>()), 0.0);
  EXPECT_NEAR(pulls[1][2].get<double>(), a * (3 - mean) / (2 + a), kTolerance);
}

TEST(WorkedExampleBackward, MaskedEntriesReceiveNothing) {
  const Json masked =
      MeasureBackward(ChapterExample(), {}).value()["masked_entries"];
  EXPECT_EQ(masked["causal"]["largest_above_diagonal"], 0.0);
  // PyTorch's own gradients of this loss, above the diagonal.
  const Json values = WorkedExampleReference().value()["values"];
  const Tensor<double> theirs =
      Matrix(values["gradients_of_all_rows_unmasked"]["scores"]);
  EXPECT_NEAR(masked["unmasked"]["largest_above_diagonal"].get<double>(),
              std::abs(theirs(0, 2)), kTolerance);
  EXPECT_NEAR(masked["unmasked"]["smallest_above_diagonal"].get<double>(),
              std::abs(theirs(0, 1)), kTolerance);
}

TEST(WorkedExampleBackward, NudgesMoveTheLossAsTheGradientSays) {
  const Json backward = MeasureBackward(ChapterExample(), {}).value();
  const Json& nudges = backward["nudges"];
  const double size = nudges["size"].get<double>();
  for (int j = 0; j < 3; ++j) {
    const Json& nudge = nudges["scores"][j];
    // First order; the second derivative of a weighted average of values
    // between 0 and 3 by one score is at most 3/4.
    EXPECT_NEAR(nudge["loss_change"].get<double>(),
                size * backward["score_gradients"][2][j].get<double>(),
                0.5 * 0.75 * size * size);
    for (int k = 0; k < 3; ++k) {
      EXPECT_NEAR(nudge["score_changes"][k].get<double>(), j == k ? size : 0,
                  4 * kUnit);
      EXPECT_EQ(nudge["weight_changes"][k].get<double>() > 0, j == k);
    }
  }
  for (int c = 0; c < 2; ++c) {
    const Json& nudge = nudges["query_components"][c];
    EXPECT_NEAR(nudge["loss_change"].get<double>(),
                size * backward["query_gradients"][2][c].get<double>(),
                0.5 * 0.75 * size * size);
    for (int k = 0; k < 3; ++k) {
      EXPECT_NEAR(nudge["score_changes"][k].get<double>(),
                  k == 2 || k == c ? size * std::sqrt(0.5) : 0, 8 * kUnit);
    }
  }
}

}  // namespace
}  // namespace softlookup
