#include "experiments/worked_example/forward.h"

#include <cmath>
#include <string>

#include "base/tensor/matrix.h"
#include "experiments/worked_example/pytorch_values.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

constexpr double kUnit = 0x1p-53;  // the rounding unit of double

// Ten roundings of numbers below 4, and one ulp of another exponential.
constexpr double kTolerance = 12 * 4 * kUnit;

Tensor<double> Matrix(const Json& lists) {
  return MatrixFromLists(lists).value();
}

TEST(WorkedExampleForward, FourCasesAsPyTorchHasThem) {
  const Json values = WorkedExampleReference().value()["values"];
  for (const bool causal : {true, false}) {
    for (const bool scaled : {true, false}) {
      const std::string name = CaseName(causal, scaled);
      SCOPED_TRACE(name);
      const BoardCase board =
          ComputeBoardCase(ChapterExample(), causal, scaled).value();
      const Tensor<double> weights = Matrix(values[name]["weights"]);
      EXPECT_LE(LargestDifference(board.head.weights, weights), kTolerance);
      EXPECT_LE(
          LargestDifference(board.head.output, Matrix(values[name]["output"])),
          kTolerance);
      const Tensor<double> scores = Matrix(values[name]["scores"]);
      for (int64_t i = 0; i < 3; ++i) {
        double sum = 0;
        for (int64_t j = 0; j < 3; ++j) {
          if (causal && j > i) {
            EXPECT_TRUE(std::isinf(board.scores(i, j)));
            EXPECT_LT(board.scores(i, j), 0);
            EXPECT_EQ(board.exponentials(i, j), 0.0);
            continue;
          }
          EXPECT_NEAR(board.scores(i, j), scores(i, j), kTolerance);
          EXPECT_NEAR(board.exponentials(i, j), std::exp(scores(i, j)),
                      kTolerance);
          sum += std::exp(scores(i, j));
        }
        // Twice the exponential of 2, and one for each addition.
        EXPECT_NEAR(board.row_sums[i], sum, 4 * kTolerance);
      }
    }
  }
}

TEST(WorkedExampleForward, CaseNamesAndOptions) {
  EXPECT_EQ(CaseName(true, true), "causal_scaled");
  EXPECT_EQ(CaseName(false, true), "unmasked_scaled");
  EXPECT_EQ(CaseName(true, false), "causal_unscaled");
  EXPECT_EQ(CaseName(false, false), "unmasked_unscaled");
  EXPECT_FALSE(CaseOptions(true, true).scale.has_value());
  EXPECT_EQ(CaseOptions(true, false).scale, 1.0);
}

TEST(WorkedExampleForward, Entropy) {
  // 1/2, 1/4, 1/4 has 1.5 bits; a certain outcome has none.
  const Tensor<double> weights({2, 3}, {0.5, 0.25, 0.25, 1, 0, 0});
  EXPECT_NEAR(Entropy(weights, 0), 1.5 * std::log(2.0), 4 * kUnit);
  EXPECT_EQ(Entropy(weights, 1), 0.0);
}

TEST(WorkedExampleForward, ScoresAndCounts) {
  const Json forward = MeasureForward(ChapterExample()).value();
  const Json& scores = forward["scores"];
  EXPECT_EQ(scores["raw"].dump(),
            "[[1.0,0.0,1.0],[0.0,1.0,1.0],[1.0,1.0,2.0]]");
  // 0, 1 / sqrt 2, sqrt 2 with the scale; 1 and 2 come in without it.
  ASSERT_EQ(scores["distinct_scaled_count"], 3);
  EXPECT_EQ(scores["distinct_scaled_or_unscaled_count"], 5);
  EXPECT_NEAR(scores["exponentials_of_distinct_scaled"][2].get<double>(),
              std::exp(std::sqrt(2.0)), kTolerance);
  // Query 1 finds key 3 as good as its own.
  EXPECT_EQ(scores["lead_of_own_key"][0], 0.0);
  EXPECT_NEAR(scores["lead_of_own_key"][2].get<double>(), std::sqrt(0.5),
              kTolerance);
  const Json& causal = forward["cases"]["causal_scaled"];
  EXPECT_EQ(causal["visible_keys"].dump(), "[1,2,3]");
  EXPECT_LE(causal["weights_by_hand_deviation"].get<double>(), kTolerance);
  EXPECT_EQ(forward["cases"]["unmasked_scaled"]["visible_keys"].dump(),
            "[3,3,3]");
}

TEST(WorkedExampleForward, MaskChangesEveryRowButTheLast) {
  const Json masking = MeasureForward(ChapterExample()).value()["masking"];
  // Row 1 of the unmasked case, from the closed form with a = e^(1 / sqrt 2).
  const double a = std::exp(std::sqrt(0.5));
  EXPECT_NEAR(masking["weight_change_by_row"][0].get<double>(),
              1 - a / (2 * a + 1), kTolerance);
  EXPECT_GT(masking["weight_change_by_row"][1].get<double>(), 0.1);
  EXPECT_EQ(masking["weight_change_by_row"][2], 0.0);
  EXPECT_GT(masking["output_change_by_row"][1].get<double>(), 0.1);
  EXPECT_EQ(masking["output_change_by_row"][2], 0.0);
  for (const Json& weight : masking["largest_future_weight_by_row"]) {
    EXPECT_EQ(weight, 0.0);
  }
}

TEST(WorkedExampleForward, MirroredRows) {
  const Json mirror = MeasureForward(ChapterExample()).value()["mirror"];
  EXPECT_EQ(mirror["row_1_products"].dump(), "[1.0,0.0,1.0]");
  for (int j = 0; j < 3; ++j) {
    EXPECT_EQ(mirror["product_differences"][j], 0.0);
    EXPECT_EQ(mirror["weight_differences"][j], 0.0);
  }
  const double a = std::exp(std::sqrt(0.5));
  EXPECT_NEAR(mirror["largest_weight_difference_without_swap"].get<double>(),
              (a - 1) / (2 * a + 1), kTolerance);
  EXPECT_GT(mirror["output_distance"].get<double>(), 0.1);
  // With equal values the exchanged weights meet equal values. The two
  // outputs add their terms in another order: a few roundings below 4.
  EXPECT_LE(mirror["output_distance_with_equal_values"].get<double>(),
            8 * 4 * kUnit);
}

TEST(WorkedExampleForward, MirrorNeedsTheSymmetry) {
  WorkedExample example = ChapterExample();
  example.key(0, 1) = 0.5;
  const Json mirror = MeasureForward(example).value()["mirror"];
  EXPECT_EQ(mirror["product_differences"][1], 0.5);
  EXPECT_GT(mirror["weight_differences"][1].get<double>(), 0.01);
}

TEST(WorkedExampleForward, ScalingMovesTheLastRow) {
  const Json scaling = MeasureForward(ChapterExample()).value()["scaling"];
  EXPECT_EQ(scaling["last_row_lead_unscaled"].dump(), "[1.0,1.0]");
  EXPECT_NEAR(scaling["last_row_lead_scaled"][0].get<double>(), std::sqrt(0.5),
              kTolerance);
  EXPECT_LE(scaling["gap_times_root_deviation"].get<double>(), kTolerance);
  const Json& last = scaling["last_row"];
  const double a = std::exp(std::sqrt(0.5));
  const double e = std::exp(1.0);
  EXPECT_NEAR(last["weight_scaled"].get<double>(), a / (2 + a), kTolerance);
  EXPECT_NEAR(last["weight_unscaled"].get<double>(), e / (2 + e), kTolerance);
  EXPECT_NEAR(last["weight_rise"].get<double>(), e / (2 + e) - a / (2 + a),
              2 * kTolerance);
  EXPECT_GT(last["entropy_drop"].get<double>(), 0.01);
  EXPECT_GT(last["distance_drop"].get<double>(), 0.1);
  // Row 3 of the unmasked case is that row; rows 1 and 2 drop by less.
  const double odds = 2 * a + 1;
  const double sharp = 2 * e + 1;
  EXPECT_NEAR(scaling["smallest_entropy_drop_unmasked"].get<double>(),
              std::log(odds) - 2 * a / odds * std::log(a) - std::log(sharp) +
                  2 * e / sharp,
              4 * kTolerance);
  // The first row sees one key, with the scale or without.
  EXPECT_EQ(scaling["first_row"]["entropy_drop"], 0.0);
  EXPECT_EQ(scaling["first_row"]["distance_drop"], 0.0);
  EXPECT_EQ(scaling["weight_rise_at_width_1"], 0.0);
}

}  // namespace
}  // namespace softlookup
