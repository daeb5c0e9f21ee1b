#include "experiments/saturation/scores.h"

#include <cmath>
#include <string>
#include <utility>

#include "base/statistics/estimate.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

// An estimate lies within five of its standard errors of the truth, and the
// error is within a fifth of what theory gives.
void ExpectEstimate(const Estimate& estimate, double truth, double error) {
  EXPECT_NEAR(estimate.standard_error, error, error / 5);
  EXPECT_NEAR(estimate.value, truth, 5 * error);
}

// Var(s) = d_k; the error of a mean is sqrt(d_k / n); that of a variance is
// sqrt((m4 - d_k^2) / n) with m4 = 3 d_k^2 + d_k (m - 3), where m is the
// fourth moment of a product: 9 for Gaussians, 81 / 25 for uniform entries, 1
// for signs.
TEST(ScoreSpread, MomentsOfEveryKindAndWidth) {
  constexpr int kDraws = 8000;
  const ScoreSpread spread =
      MeasureScoreSpread({.draws = kDraws, .largest_width = 64, .seed = 2});
  const std::pair<std::string, double> kinds[] = {
      {"gaussian", 9}, {"uniform", 81.0 / 25}, {"signs", 1}};
  ASSERT_EQ(spread.kinds.size(), 3);
  for (size_t k = 0; k < 3; ++k) {
    const auto& [kind, fourth] = kinds[k];
    EXPECT_EQ(spread.kinds[k].name, kind);
    ASSERT_EQ(spread.kinds[k].by_width.size(), 6);
    for (const size_t step : {0, 5}) {
      const int width = 2 << step;
      SCOPED_TRACE(testing::Message() << kind << ", width " << width);
      const ScoresAtWidth& at = spread.kinds[k].by_width[step];
      EXPECT_EQ(at.width, width);
      const double m4 = 3.0 * width * width + width * (fourth - 3);
      const double error = std::sqrt((m4 - width * width) / kDraws);
      ExpectEstimate(at.mean, 0, std::sqrt(1.0 * width / kDraws));
      ExpectEstimate(at.variance, width, error);
      ExpectEstimate(at.scaled_variance, 1, error / width);
      ExpectEstimate(at.standard_deviation, std::sqrt(width),
                     error / 2 / std::sqrt(width));
    }
  }
  // 18 estimates of truths; 9 of them are wider than 8.
  for (const double furthest : {spread.furthest.mean, spread.furthest.variance,
                                spread.furthest.scaled_variance}) {
    EXPECT_LT(furthest, 4);
    EXPECT_GT(furthest, 0.5);
  }
  EXPECT_GT(spread.furthest.unscaled_variance, 30);
  // |q|^2 has mean d_k and variance 2 d_k; its terms have mean 1 and second
  // moment 3.
  const ScoresAtWidth& same = spread.same_vector[5];
  ExpectEstimate(same.mean, 64, std::sqrt(2.0 * 64 / kDraws));
  EXPECT_NEAR(same.variance.value, 2 * 64, 10);
  EXPECT_GT(ErrorsOff(same.mean, 0), 100);
  EXPECT_NEAR(spread.same_vector_term.mean.value, 1, 0.05);
  EXPECT_NEAR(spread.same_vector_term.second_moment.value, 3, 0.4);
  // A product of two Gaussians: variance 1, fourth moment 9.
  ExpectEstimate(spread.term.mean, 0, std::sqrt(1.0 / kDraws));
  ExpectEstimate(spread.term.second_moment, 1, std::sqrt(8.0 / kDraws));
}

TEST(Projections, NormalisedInputsKeepUnitVariance) {
  const ProjectionMoments found = MeasureProjections(
      {.replicates = 20, .tokens = 8, .d_model = 64, .d_head = 32});
  EXPECT_NEAR(found.input_mean_square.value, 1, 1e-14);
  for (const Estimate& estimate :
       {found.query_entry_variance, found.key_entry_variance,
        found.scaled_score_variance}) {
    EXPECT_NEAR(estimate.value, 1, 5 * estimate.standard_error);
    EXPECT_GT(estimate.standard_error, 0);
    EXPECT_LT(estimate.standard_error, 0.1);
  }
}

// Entries z^2 + 1 have mean square 3 + 2 + 1 = 6. With gain 2 an entry of a
// query has 6 * 4, and a scaled score the product of both, 24^2, up to the
// spread of |x|^2.
TEST(Projections, InputsAsTheyAreAndLargerWeights) {
  const ProjectionMoments found = MeasureProjections({.replicates = 20,
                                                      .tokens = 8,
                                                      .d_model = 64,
                                                      .d_head = 32,
                                                      .weight_gain = 2,
                                                      .normalise = false});
  EXPECT_NEAR(found.input_mean_square.value, 6, 0.5);
  EXPECT_NEAR(found.query_entry_variance.value, 24, 4);
  EXPECT_NEAR(found.key_entry_variance.value, 24, 4);
  EXPECT_NEAR(found.scaled_score_variance.value, 24 * 24, 200);
}

TEST(Divisors, RootsOfTheWidth) {
  const Divisors found = MeasureDivisors(128);
  EXPECT_EQ(found.width, 128);
  EXPECT_DOUBLE_EQ(found.divisor, std::sqrt(128.0));
  EXPECT_DOUBLE_EQ(found.divisor_at_width_2, std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(found.ratio, 8);
}

}  // namespace
}  // namespace softlookup
