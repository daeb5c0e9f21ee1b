#include "interpretability/head_composition.h"

#include <cmath>
#include <cstdint>
#include <string>

#include "base/json.h"
#include "base/random/random.h"
#include "base/tensor/matrix.h"
#include "base/tensor/tensor.h"
#include "gtest/gtest.h"
#include "interpretability/hand_weighted_transformer.h"

namespace softlookup {
namespace {

TEST(CompositionScore, IsOneForWhatMeetsAndZeroForWhatDoesNot) {
  // [1 0; 0 0] writes into the first coordinate.
  const Tensor<double> first({2, 2}, {3, 0, 0, 0});
  const Tensor<double> second({2, 2}, {0, 0, 0, 5});
  EXPECT_EQ(CompositionScore(first, first), 1);
  EXPECT_EQ(CompositionScore(first, second), 0);
  // The identity of n dimensions with itself: sqrt(n) / n.
  const Tensor<double> identity({2, 2}, {1, 0, 0, 1});
  EXPECT_NEAR(CompositionScore(identity, identity), std::sqrt(0.5), 1e-15);
  EXPECT_EQ(CompositionScore(first, Tensor<double>({2, 2})), 0);
}

// In the hand-weighted model the previous-token head is read by the keys of the
// induction head and by nothing else.
TEST(MeasureComposition, FindsTheOnePathThatThereIs) {
  const HandWeightedTransformer hand(8, 18);
  const Json json =
      MeasureComposition(hand.model.layout(), hand.weights, 1, 50);
  ASSERT_EQ(json["pairs"].size(), 4);
  for (const Json& pair : json["pairs"]) {
    const bool circuit = pair["from"]["head"] == kPreviousHead &&
                         pair["to"]["head"] == kInductionHead;
    EXPECT_EQ(pair["from"]["layer"], 0);
    EXPECT_EQ(pair["to"]["layer"], 1);
    // Eight coordinates written meet eight of the sixteen that the keys read:
    // sqrt(8) / (sqrt(8) sqrt(16)).
    EXPECT_NEAR(pair["key"].get<double>(), circuit ? 0.25 : 0, 1e-6);
    EXPECT_EQ(pair["query"], 0);
    EXPECT_EQ(pair["value"], 0);
    EXPECT_EQ(pair["key_deviations"] > 0, circuit);
  }
}

// For random A and B of rank D in d dimensions the score is about 1 / sqrt(d)
// for D = d, and never above 1: a second method for the baseline, from the
// expectation of ||A B||^2, ||A||^2 and ||B||^2 over Gaussian factors.
TEST(MeasureComposition, TheBaselineIsWhatRandomFactorsGive) {
  const HandWeightedTransformer hand(8, 18);
  const Json json =
      MeasureComposition(hand.model.layout(), hand.weights, 1, 400);
  const double d = static_cast<double>(hand.model.config().d_model);
  // ||A B||^2 has the mean d D d D d, the product of norms (d D d)^2, to
  // leading order.
  EXPECT_NEAR(json["baseline"]["mean"].get<double>(), 1 / std::sqrt(d), 0.01);
}

TEST(MeasureFullCircuits, OfTheHandWeightedModelArePerfect) {
  const HandWeightedTransformer hand(8, 18);
  const HeadPair pair = {{0, kPreviousHead}, {1, kInductionHead}};
  const Json json =
      MeasureFullCircuits(hand.model.layout(), hand.weights, pair);
  for (const std::string name : {"output", "match", "position"}) {
    EXPECT_EQ(json[name]["largest_on_diagonal"], 1) << name;
    EXPECT_GT(json[name]["diagonal_deviations"].get<double>(), 0.9) << name;
  }
  // One element of eight stands out: (1 - 1/8) / sqrt(1/8 - 1/64).
  EXPECT_NEAR(json["output"]["diagonal_deviations"].get<double>(),
              std::sqrt(7.0), 1e-6);
  // The keys of the induction head see no token of their own position.
  EXPECT_EQ(json["direct"]["diagonal_deviations"], 0);
  // Other heads have no circuit.
  const Json other = MeasureFullCircuits(hand.model.layout(), hand.weights,
                                         {{0, 0}, {1, kInductionHead}});
  EXPECT_EQ(other["match"]["diagonal_deviations"], 0);
}

}  // namespace
}  // namespace softlookup
