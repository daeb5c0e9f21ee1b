#include "experiments/soft_lookup/historical_scores.h"

#include <cmath>

#include "gtest/gtest.h"

namespace softlookup {
namespace {

constexpr double kUnit = 0x1p-53;  // the rounding unit of double

Json Measure() { return MeasureAlignment({.draws = 100, .seed = 4}).value(); }

TEST(Alignment, ScoresAreTheirFormulas) {
  const Json json = Measure();
  // Up to 16 terms of products of normals, below 50 together, in another
  // order of summation.
  for (const char* score : {"additive", "dot", "bilinear"}) {
    EXPECT_LE(json["from_formula"][score].get<double>(), 16 * 50 * kUnit)
        << score;
  }
  EXPECT_EQ(json["bilinear_with_identity_from_dot"], 0.0);
}

TEST(Alignment, MultiplicativeScoresAreOneMatrixProduct) {
  const Json json = Measure();
  const Json& bent = json["from_linearity"];
  EXPECT_LE(bent["dot"].get<double>(), 16 * 50 * kUnit);
  EXPECT_LE(bent["bilinear"].get<double>(), 16 * 50 * kUnit);
  EXPECT_GT(bent["additive"]["range"][0].get<double>(), 0.01);
  EXPECT_EQ(json["largest_rank"]["dot"], 4);
  EXPECT_EQ(json["largest_rank"]["bilinear"], 4);
  EXPECT_EQ(json["largest_rank"]["additive"], 10);
}

TEST(Alignment, ContextVectorFollowsTheDecoder) {
  const Json context = Measure()["context"];
  EXPECT_LE(context["from_weighted_sum"].get<double>(), 12 * 5 * kUnit);
  EXPECT_LE(context["weight_sum_from_1"].get<double>(), 16 * kUnit);
  EXPECT_GT(context["weight_change_by_decoder_state"]["range"][0].get<double>(),
            1e-3);
  EXPECT_EQ(context["weight_change_without_network"]["range"][1], 0.0);
}

TEST(Alignment, ExampleIsASoftmaxOfItsScores) {
  const Json example = Measure()["example"];
  double sum = 0;
  for (const Json& score : example["additive_scores"]) {
    sum += std::exp(score.get<double>());
  }
  for (size_t j = 0; j < example["weights"].size(); ++j) {
    EXPECT_NEAR(example["weights"][j].get<double>(),
                std::exp(example["additive_scores"][j].get<double>()) / sum,
                32 * kUnit);
  }
  EXPECT_EQ(example["context_vector"].size(), 4u);
}

}  // namespace
}  // namespace softlookup
