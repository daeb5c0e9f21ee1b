#include "base/statistics/estimate.h"

#include <cmath>
#include <vector>

#include "base/random/random.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

// Known by hand: mean 5, squared distances 9 1 1 1 0 0 4 16 (sum 32), fourth
// powers 81 1 1 1 0 0 16 256 (sum 356).
const std::vector<double>& Eight() {
  static const auto& draws = *new std::vector<double>{2, 4, 4, 4, 5, 5, 7, 9};
  return draws;
}

TEST(Estimate, MeanByHand) {
  const Estimate mean = MeanEstimate(Eight());
  EXPECT_DOUBLE_EQ(mean.value, 5);
  EXPECT_DOUBLE_EQ(mean.standard_error, std::sqrt(32.0 / 7 / 8));
}

TEST(Estimate, MeanAndRangeByHand) {
  const MeanAndRange eight = MeanAndRangeOf(Eight());
  EXPECT_DOUBLE_EQ(eight.mean, 5);
  EXPECT_EQ(eight.smallest, 2.0);
  EXPECT_EQ(eight.largest, 9.0);
  EXPECT_EQ(ToJson(MeanAndRangeOf({-2.0, -1.0, -6.0})).dump(),
            "{\"mean\":-3.0,\"range\":[-6.0,-1.0]}");
  EXPECT_EQ(ToJson(MeanAndRangeOf({0.0, 0.0})).dump(),
            "{\"mean\":0.0,\"range\":[0.0,0.0]}");
}

TEST(Estimate, MeanAndRangeOfAMember) {
  struct Draw {
    double one;
    double other;
  };
  const std::vector<Draw> draws = {{1, 10}, {3, 40}};
  const MeanAndRange other = MeanAndRangeOf(draws, &Draw::other);
  EXPECT_EQ(other.mean, 25.0);
  EXPECT_EQ(other.smallest, 10.0);
  EXPECT_EQ(other.largest, 40.0);
}

TEST(Estimate, NoNaNGetsLostInARange) {
  for (const size_t at : {0, 3, 7}) {
    std::vector<double> draws = Eight();
    draws[at] = std::nan("");
    const MeanAndRange effect = MeanAndRangeOf(draws);
    EXPECT_TRUE(std::isnan(effect.mean)) << at;
    EXPECT_TRUE(std::isnan(effect.smallest)) << at;
    EXPECT_TRUE(std::isnan(effect.largest)) << at;
  }
}

TEST(Estimate, VarianceByHand) {
  const Estimate variance = VarianceEstimate(Eight());
  const double s2 = 32.0 / 7;
  EXPECT_DOUBLE_EQ(variance.value, s2);
  EXPECT_DOUBLE_EQ(variance.standard_error,
                   std::sqrt((356.0 / 8 - s2 * s2 * 5 / 7) / 8));
}

TEST(Estimate, StandardDeviationByHand) {
  const Estimate deviation = StandardDeviationEstimate(Eight());
  const Estimate variance = VarianceEstimate(Eight());
  EXPECT_DOUBLE_EQ(deviation.value, std::sqrt(32.0 / 7));
  EXPECT_DOUBLE_EQ(deviation.standard_error,
                   variance.standard_error / 2 / std::sqrt(32.0 / 7));
}

TEST(Estimate, IntervalReachesFourErrors) {
  const Json json = EstimateJson({10, 0.5});
  EXPECT_EQ(json["value"], 10.0);
  EXPECT_EQ(json["standard_error"], 0.5);
  EXPECT_EQ(json["interval"][0], 8.0);
  EXPECT_EQ(json["interval"][1], 12.0);
}

TEST(Estimate, ErrorsOff) {
  EXPECT_EQ(EstimateJson({10, 0.5}, 8)["errors_off"], 4.0);
  EXPECT_EQ(EstimateJson({10, 0.5}, 11)["errors_off"], 2.0);
  EXPECT_EQ(EstimateJson({10, 0.5}, 8)["interval"][1], 12.0);
}

TEST(Estimate, GeometricMeanByHand) {
  // log 1, log 4: mean log 2, standard deviation log 4 / sqrt(2), error half
  // of log 4.
  const Json json = ToJson(GeometricMeanEstimate({1.0, 4.0}));
  EXPECT_DOUBLE_EQ(json["value"].get<double>(), 2);
  EXPECT_DOUBLE_EQ(json["log_standard_error"].get<double>(), std::log(2.0));
  EXPECT_DOUBLE_EQ(json["interval"][0].get<double>(), 2.0 / 16);
  EXPECT_DOUBLE_EQ(json["interval"][1].get<double>(), 2.0 * 16);
}

TEST(Median, IsInTheMiddle) {
  const std::vector<double> draws = {30, 10, 20, 40};
  EXPECT_EQ(Median(draws), 25);
  EXPECT_EQ(Median({3.0, 1.0, 2.0}), 2);
  EXPECT_EQ(Median({7.0}), 7);
}

TEST(BlockEstimate, ErrorFromReplicates) {
  // Medians of (1 2 9), (4 5 6): 2 and 5, error |5 - 2| / 2; of all six: 4.5.
  const Estimate median =
      BlockEstimate({9.0, 1.0, 2.0, 6.0, 5.0, 4.0}, 2, Median);
  EXPECT_DOUBLE_EQ(median.value, 4.5);
  EXPECT_DOUBLE_EQ(median.standard_error, 1.5);
}

TEST(BlockEstimate, RatioFromPairedBlocks) {
  // Means 2 and 6 over 1 and 2: ratios 2 and 3, error |3 - 2| / 2; of all:
  // 4 over 1.5.
  const Estimate ratio =
      BlockRatioEstimate({1.0, 3.0, 5.0, 7.0}, {1.0, 1.0, 2.0, 2.0}, 2, Mean);
  EXPECT_DOUBLE_EQ(ratio.value, 4 / 1.5);
  EXPECT_DOUBLE_EQ(ratio.standard_error, 0.5);
}

TEST(Fraction, CountsTheThresholdItself) {
  EXPECT_EQ(FractionAtLeast({1.0, 2.0, 3.0, 4.0}, 3), 0.5);
  EXPECT_EQ(FractionAtLeast({1.0, 2.0}, 3), 0);
}

TEST(Histogram, EdgesBelongToTheBinAbove) {
  const Json json =
      ToJson(CountDraws({-0.1, 0.0, 0.24, 0.25, 0.5, 1.0, 1.1}, 0, 1, 4));
  EXPECT_EQ(json["counts"], Json({2, 1, 1, 1}));
  EXPECT_EQ(json["low"], 0.0);
  EXPECT_EQ(json["high"], 1.0);
}

// The errors must be right, not only the values: over many samples from a
// known distribution, (value - truth) / error has a variance near 1. With
// 2,000 samples its standard error is about sqrt(2 / 2000) = 0.03 (a little
// more, since the error is estimated as well), so 0.8 to 1.2 is over five of
// them, and a forgotten factor (sqrt(2), n for n - 1 aside) falls outside.
template <typename Function>
double StandardisedSpread(const std::string& stream_name, double truth,
                          const Function& estimate) {
  RandomStream stream(/*seed=*/1, stream_name);
  constexpr int kSamples = 2000;
  double sum = 0;
  for (int sample = 0; sample < kSamples; ++sample) {
    std::vector<double> draws(400);
    stream.FillGaussian(absl::MakeSpan(draws));
    for (double& draw : draws) draw = 3 + 2 * draw;
    const Estimate found = estimate(draws);
    const double z = (found.value - truth) / found.standard_error;
    sum += z * z;
  }
  return sum / kSamples;
}

TEST(Estimate, ErrorsAreCalibrated) {
  const double mean = StandardisedSpread("mean", 3, MeanEstimate);
  const double variance = StandardisedSpread("variance", 4, VarianceEstimate);
  const double deviation =
      StandardisedSpread("deviation", 2, StandardDeviationEstimate);
  // 20 blocks: z has Student's distribution with 19 degrees of freedom, whose
  // variance is 19 / 17 = 1.12.
  const double median =
      StandardisedSpread("median", 3, [](absl::Span<const double> draws) {
        return BlockEstimate(draws, 20, Median);
      });
  for (const double spread : {mean, variance, deviation, median}) {
    EXPECT_GT(spread, 0.8);
    EXPECT_LT(spread, 1.3);
  }
}

}  // namespace
}  // namespace softlookup
