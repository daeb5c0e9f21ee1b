#include "experiments/permutation/measure.h"

#include <cmath>

#include "gtest/gtest.h"

namespace softlookup {
namespace {

constexpr double kUnit = 0x1p-53;  // the rounding unit of double

// Reordering 3 to 5 tokens reorders the sums of their exponentials and of
// their weighted values: fewer than 16 roundings relative to the values.
constexpr double kTolerance = 16 * kUnit;

TEST(PermutationMeasure, PositionEmbeddings) {
  const Tensor<double> embeddings = PositionEmbeddings(4, 4);
  EXPECT_EQ(embeddings(0, 0), 0.0);
  EXPECT_EQ(embeddings(0, 1), 1.0);
  // Width 4: the second pair turns 100 times more slowly.
  EXPECT_NEAR(embeddings(3, 0), std::sin(3.0), 4 * kUnit);
  EXPECT_NEAR(embeddings(3, 1), std::cos(3.0), 4 * kUnit);
  EXPECT_NEAR(embeddings(3, 2), std::sin(0.03), 4 * kUnit);
  EXPECT_NEAR(embeddings(3, 3), std::cos(0.03), 4 * kUnit);
}

TEST(PermutationMeasure, SetDistance) {
  const Tensor<double> a({2, 2}, {0, 0, 1, 2});
  EXPECT_EQ(SetDistance(a, Tensor<double>({2, 2}, {1, 2, 0, 0})), 0.0);
  EXPECT_EQ(SetDistance(a, Tensor<double>({2, 2}, {1, 2, 1, 2})), 2.0);
  EXPECT_EQ(SetDistance(Tensor<double>({2, 2}, {1, 2, 1, 2}), a), 2.0);
  EXPECT_EQ(SetDistance(a, Tensor<double>({2, 2}, {0, 0, 1, 2.5})), 0.5);
}

TEST(PermutationMeasure, Sentences) {
  const Json json = MeasureSentences({.draws = 200, .seed = 8}).value();
  EXPECT_EQ(json["first"].dump(), "[\"压力\",\"超过\",\"限值\"]");
  EXPECT_EQ(json["second"].dump(), "[\"限值\",\"超过\",\"压力\"]");
  const Json& none = json["no_positions"];
  for (const char* effect :
       {"own_output_difference", "weight_difference", "set_distance"}) {
    EXPECT_LE(none[effect]["range"][1].get<double>(), kTolerance) << effect;
    for (const char* broken : {"causal", "positions"}) {
      EXPECT_GT(json[broken][effect]["range"][0].get<double>(), 1e-4)
          << broken << " " << effect;
    }
  }
  // The outputs really move: what was first is last.
  for (int c = 0; c < 2; ++c) {
    EXPECT_NEAR(none["outputs_of_first"][0][c].get<double>(),
                none["outputs_of_second"][2][c].get<double>(), 8 * kTolerance);
  }
  EXPECT_GT(std::abs(none["outputs_of_first"][0][0].get<double>() -
                     none["outputs_of_second"][0][0].get<double>()),
            1e-3);
}

TEST(PermutationMeasure, AllOrders) {
  const Json json = MeasureAllOrders({.draws = 10, .seed = 8}, 5).value();
  // 5! - 1.
  EXPECT_EQ(json["orders_of_each_draw"], 119);
  EXPECT_LE(json["no_positions"]["range"][1].get<double>(), kTolerance);
  EXPECT_GT(json["causal"]["range"][0].get<double>(), 1e-4);
  EXPECT_GT(json["positions"]["range"][0].get<double>(), 1e-4);
}

TEST(PermutationMeasure, Influence) {
  const Json json = MeasureInfluence({.draws = 200, .seed = 8}, 6).value();
  const Json& future = json["future_on_past"];
  EXPECT_EQ(future["recurrent"]["range"][1], 0.0);
  EXPECT_GT(future["recurrent_on_last"]["range"][0].get<double>(), 0.01);
  EXPECT_EQ(future["attention_causal"]["range"][1], 0.0);
  EXPECT_GT(future["attention_unmasked"]["range"][0].get<double>(), 1e-3);
  const Json& routes = json["one_token_on_others"];
  EXPECT_EQ(routes["position_wise"]["range"][1], 0.0);
  EXPECT_GT(routes["attention"]["range"][0].get<double>(), 1e-3);
}

}  // namespace
}  // namespace softlookup
