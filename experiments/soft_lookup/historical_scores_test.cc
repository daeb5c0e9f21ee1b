#include "experiments/soft_lookup/historical_scores.h"

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace softlookup {
namespace {

constexpr double kUnit = 0x1p-53;  // the rounding unit of double

HistoricalScoresResults Measure() {
  return MeasureHistoricalScores({.draws = 100, .seed = 4}).value();
}

TEST(HistoricalScores, AreTheirFormulas) {
  const ScoreDeviations<MeanAndRange> found = Measure().deviations;
  // Up to 16 terms of products of normals, below 50 together, in another
  // order of summation.
  constexpr double kTolerance = 16 * 50 * kUnit;
  EXPECT_LE(found.from_formula.additive.largest, kTolerance);
  EXPECT_LE(found.from_formula.dot.largest, kTolerance);
  EXPECT_LE(found.from_formula.bilinear.largest, kTolerance);
  EXPECT_EQ(found.bilinear_with_identity_from_dot.largest, 0.0);
}

TEST(HistoricalScores, MultiplicativeOnesAreOneMatrixProduct) {
  const HistoricalScoresResults found = Measure();
  const OfScores<MeanAndRange>& bent = found.deviations.from_linearity;
  EXPECT_LE(bent.dot.largest, 16 * 50 * kUnit);
  EXPECT_LE(bent.bilinear.largest, 16 * 50 * kUnit);
  EXPECT_GT(bent.additive.smallest, 0.01);
  EXPECT_EQ(found.largest_rank.dot, 4);
  EXPECT_EQ(found.largest_rank.bilinear, 4);
  EXPECT_EQ(found.largest_rank.additive, 10);
}

TEST(HistoricalScores, ContextVectorFollowsTheDecoder) {
  const ScoreDeviations<MeanAndRange> found = Measure().deviations;
  EXPECT_LE(found.context_from_weighted_sum.largest, 12 * 5 * kUnit);
  EXPECT_LE(found.weight_sum_from_1.largest, 16 * kUnit);
  EXPECT_GT(found.weight_change_by_decoder_state.smallest, 1e-3);
  EXPECT_EQ(found.weight_change_without_network.largest, 0.0);
}

TEST(HistoricalScores, ExampleIsASoftmaxOfItsScores) {
  const ContextExample example = Measure().example;
  double sum = 0;
  for (const double score : example.additive_scores) sum += std::exp(score);
  ASSERT_EQ(example.weights.size(), 12u);
  for (size_t j = 0; j < example.weights.size(); ++j) {
    EXPECT_NEAR(example.weights[j], std::exp(example.additive_scores[j]) / sum,
                32 * kUnit);
  }
  EXPECT_EQ(example.context_vector.size(), 4u);
}

// Each input in turn, and the deviations that depend on it.
TEST(HistoricalScores, NoNaNGetsLost) {
  using Inputs = HistoricalScoresInputs;
  using Found = ScoreDeviations<double>;
  const auto of_additive = [](const Found& found) {
    return std::vector<double>{
        found.from_formula.additive, found.from_linearity.additive,
        found.context_from_weighted_sum, found.weight_sum_from_1,
        found.weight_change_by_decoder_state};
  };
  const auto of_bilinear = [](const Found& found) {
    return std::vector<double>{found.from_formula.bilinear,
                               found.from_linearity.bilinear};
  };
  const auto of_all = [&](const Found& found) {
    std::vector<double> all = of_additive(found);
    for (const double x : of_bilinear(found)) all.push_back(x);
    for (const double x : {found.from_formula.dot, found.from_linearity.dot,
                           found.bilinear_with_identity_from_dot,
                           found.weight_change_without_network}) {
      all.push_back(x);
    }
    return all;
  };
  const struct {
    std::string name;
    std::function<double&(Inputs&)> number;
    std::function<std::vector<double>(const Found&)> dependent;
  } cases[] = {
      {"s", [](Inputs& x) -> double& { return x.states(0, 2); }, of_all},
      {"h", [](Inputs& x) -> double& { return x.positions(11, 2); }, of_all},
      {"W of the additive score",
       [](Inputs& x) -> double& { return x.additive.state(15, 3); },
       of_additive},
      {"U", [](Inputs& x) -> double& { return x.additive.position(0, 0); },
       of_additive},
      {"v", [](Inputs& x) -> double& { return x.additive.output[7]; },
       of_additive},
      {"W of the bilinear score",
       [](Inputs& x) -> double& { return x.bilinear(1, 2); }, of_bilinear}};
  RandomStream stream(5, "historical_scores_test");
  const Inputs inputs = DrawHistoricalScores(stream);
  for (const auto& [name, number, dependent] : cases) {
    Inputs poisoned = inputs;
    number(poisoned) = std::nan("");
    const std::vector<double> deviations = dependent(DeviationsOf(poisoned));
    for (size_t n = 0; n < deviations.size(); ++n) {
      EXPECT_FALSE(std::isfinite(deviations[n])) << name << " " << n;
    }
  }
}

}  // namespace
}  // namespace softlookup
