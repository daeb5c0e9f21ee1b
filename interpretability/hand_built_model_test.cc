#include "interpretability/hand_built_model.h"

#include <cmath>
#include <vector>

#include "base/tensor/shape.h"
#include "gtest/gtest.h"
#include "interpretability/circuits.h"

namespace softlookup {
namespace {

constexpr StreamLayout kStream = {.vocabulary = 5, .positions = 7};
// <start> A B C A: the next token should be B.
const std::vector<int64_t> kTokens = {0, 1, 2, 3, 1};

HandBuiltModel Induction(double match_score) {
  HandBuiltModel model(kStream, /*layers=*/2, /*heads=*/1);
  model.SetHead(0, 0, PreviousTokenHead(kStream, match_score));
  model.SetHead(1, 0, InductionHead(kStream, match_score));
  return model;
}

TEST(StreamLayout, SubspacesFillTheStreamWithoutOverlap) {
  EXPECT_EQ(kStream.width(), 22);
  EXPECT_EQ(kStream.token().begin, 0);
  EXPECT_EQ(kStream.position().begin, 5);
  EXPECT_EQ(kStream.position().size, 7);
  EXPECT_EQ(kStream.previous().begin, 12);
  EXPECT_EQ(kStream.next().begin + kStream.next().size, kStream.width());
}

TEST(EmbedTokens, OneTokenAndOnePosition) {
  const Tensor<double> x = EmbedTokens(kStream, kTokens);
  EXPECT_EQ(x.shape(), (Shape{5, 22}));
  EXPECT_EQ(x(3, 3), 1);
  EXPECT_EQ(x(3, 5 + 3), 1);
  double sum = 0;
  for (const double element : x.elements()) sum += element;
  EXPECT_EQ(sum, 10);
}

TEST(HandBuiltModel, PreviousTokenHeadWritesThePreviousToken) {
  const HandBuiltRun run = Induction(20).Run(kTokens).value();
  ASSERT_EQ(run.patterns[0].shape(), (Shape{1, 5, 5}));
  for (int64_t t = 1; t < 5; ++t) {
    // Of at most 4 other keys, each has e^-20 of the weight.
    EXPECT_GT(run.patterns[0](0, t, t - 1), 1 - 4.01 * std::exp(-20.0)) << t;
    EXPECT_NEAR(run.streams[1](t, kStream.previous().begin + kTokens[t - 1]), 1,
                1e-8)
        << t;
  }
}

TEST(HandBuiltModel, MatchScoreIsTheScaledScore) {
  // Two keys, one of which matches: weight 1 / (1 + e^-1).
  const HandBuiltRun run = Induction(1).Run(std::vector<int64_t>{0, 1}).value();
  EXPECT_NEAR(run.patterns[0](0, 1, 0), 1 / (1 + std::exp(-1.0)), 1e-15);
}

TEST(HandBuiltModel, InductionHeadCompletesTheRepetition) {
  const HandBuiltRun run = Induction(20).Run(kTokens).value();
  EXPECT_NEAR(run.patterns[1](0, 4, 2), 1, 1e-7);
  EXPECT_NEAR(run.logits(4, 2), 1, 1e-7);
  EXPECT_NEAR(LastLogitMargin(run, 2), 1, 1e-6);
  EXPECT_NEAR(LastLogitMargin(run, 3), -1, 1e-6);
}

TEST(HandBuiltModel, AblationSilencesOneHead) {
  for (int64_t layer : {0, 1}) {
    HandBuiltModel model = Induction(20);
    model.Ablate(layer, 0);
    const HandBuiltRun run = model.Run(kTokens).value();
    for (const double element : run.writes[layer].elements()) {
      EXPECT_EQ(element, 0);
    }
    EXPECT_LE(LastLogitMargin(run, 2), 0) << layer;
  }
}

TEST(HandBuiltModel, RunFromContinuesFromAStream) {
  const HandBuiltModel model = Induction(20);
  const HandBuiltRun run = model.Run(kTokens).value();
  const HandBuiltRun rest = model.RunFrom(1, run.streams[1]).value();
  EXPECT_EQ(rest.logits.elements(), run.logits.elements());
  EXPECT_EQ(rest.streams.size(), 2u);
}

TEST(HandBuiltModel, CircuitsMapSubspacesToSubspaces) {
  const HandBuiltModel model = Induction(20);
  const Tensor<double> ov = OvCircuit(model.layer(1), 0);
  EXPECT_EQ(ov(2, kStream.next().begin + 2), 1);
  EXPECT_EQ(ov(2, kStream.next().begin + 3), 0);
  const Tensor<double> qk = QkCircuit(model.layer(1), 0);
  EXPECT_EQ(qk(2, kStream.previous().begin + 2), 20 * std::sqrt(7.0));
  EXPECT_EQ(qk(2, kStream.previous().begin + 1), 0);
}

}  // namespace
}  // namespace softlookup
