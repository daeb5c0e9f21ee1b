#include "experiments/saturation/scores.h"

#include <cmath>
#include <string>

#include "gtest/gtest.h"

namespace softlookup {
namespace {

// An estimate lies within five of its standard errors of the truth, and the
// error is within a fifth of what theory gives.
void ExpectEstimate(const Json& estimate, double truth, double error) {
  EXPECT_NEAR(estimate["standard_error"].get<double>(), error, error / 5);
  EXPECT_NEAR(estimate["value"].get<double>(), truth, 5 * error);
}

// Var(s) = d_k; the error of a mean is sqrt(d_k / n); that of a variance is
// sqrt((m4 - d_k^2) / n) with m4 = 3 d_k^2 + d_k (m - 3), where m is the
// fourth moment of a product: 9 for Gaussians, 81 / 25 for uniform entries, 1
// for signs.
TEST(ScoreSpread, MomentsOfEveryKindAndWidth) {
  constexpr int kDraws = 8000;
  const Json spread =
      MeasureScoreSpread({.draws = kDraws, .largest_width = 64, .seed = 2});
  const std::pair<std::string, double> kinds[] = {
      {"gaussian", 9}, {"uniform", 81.0 / 25}, {"signs", 1}};
  for (const auto& [kind, fourth] : kinds) {
    EXPECT_EQ(spread[kind].size(), 6);
    for (const int width : {2, 64}) {
      SCOPED_TRACE(testing::Message() << kind << ", width " << width);
      const Json& at = spread[kind][std::to_string(width)];
      EXPECT_EQ(at["width"], width);
      const double m4 = 3.0 * width * width + width * (fourth - 3);
      const double error = std::sqrt((m4 - width * width) / kDraws);
      ExpectEstimate(at["mean"], 0, std::sqrt(1.0 * width / kDraws));
      ExpectEstimate(at["variance"], width, error);
      ExpectEstimate(at["scaled_variance"], 1, error / width);
      ExpectEstimate(at["standard_deviation"], std::sqrt(width),
                     error / 2 / std::sqrt(width));
    }
  }
  // 18 estimates of truths; 9 of them are wider than 8.
  for (const char* name : {"mean", "variance", "scaled_variance"}) {
    EXPECT_LT(spread["furthest"][name].get<double>(), 4) << name;
    EXPECT_GT(spread["furthest"][name].get<double>(), 0.5) << name;
  }
  EXPECT_GT(spread["furthest"]["unscaled_variance"].get<double>(), 30);
  // |q|^2 has mean d_k and variance 2 d_k; its terms have mean 1 and second
  // moment 3.
  const Json& same = spread["same_vector"];
  ExpectEstimate(same["64"]["mean"], 64, std::sqrt(2.0 * 64 / kDraws));
  EXPECT_NEAR(same["64"]["variance"]["value"].get<double>(), 2 * 64, 10);
  EXPECT_GT(same["64"]["mean"]["errors_off"].get<double>(), 100);
  EXPECT_NEAR(same["term"]["mean"]["value"].get<double>(), 1, 0.05);
  EXPECT_NEAR(same["term"]["second_moment"]["value"].get<double>(), 3, 0.4);
  // A product of two Gaussians: variance 1, fourth moment 9.
  ExpectEstimate(spread["term"]["mean"], 0, std::sqrt(1.0 / kDraws));
  ExpectEstimate(spread["term"]["second_moment"], 1, std::sqrt(8.0 / kDraws));
}

TEST(Projections, NormalisedInputsKeepUnitVariance) {
  const Json found = MeasureProjections(
      {.replicates = 20, .tokens = 8, .model_width = 64, .head_width = 32});
  EXPECT_NEAR(found["input_mean_square"]["value"].get<double>(), 1, 1e-14);
  for (const char* name : {"query_entry_variance", "key_entry_variance",
                           "scaled_score_variance"}) {
    SCOPED_TRACE(name);
    const double error = found[name]["standard_error"].get<double>();
    EXPECT_NEAR(found[name]["value"].get<double>(), 1, 5 * error);
    EXPECT_GT(error, 0);
    EXPECT_LT(error, 0.1);
  }
}

// Entries z^2 + 1 have mean square 3 + 2 + 1 = 6. With gain 2 an entry of a
// query has 6 * 4, and a scaled score the product of both, 24^2, up to the
// spread of |x|^2.
TEST(Projections, InputsAsTheyAreAndLargerWeights) {
  const Json found = MeasureProjections({.replicates = 20,
                                         .tokens = 8,
                                         .model_width = 64,
                                         .head_width = 32,
                                         .weight_gain = 2,
                                         .normalise = false});
  EXPECT_NEAR(found["input_mean_square"]["value"].get<double>(), 6, 0.5);
  EXPECT_NEAR(found["query_entry_variance"]["value"].get<double>(), 24, 4);
  EXPECT_NEAR(found["key_entry_variance"]["value"].get<double>(), 24, 4);
  EXPECT_NEAR(found["scaled_score_variance"]["value"].get<double>(), 24 * 24,
              200);
}

}  // namespace
}  // namespace softlookup
