#include <cmath>
#include <vector>

#include "absl/types/span.h"
#include "base/random/random.h"
#include "experiments/layer_cost/mixing.h"
#include "experiments/layer_cost/traced.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

TEST(RunningAverage, EqualScoresGiveRunningMeans) {
  const Tensor<double> values({3, 1}, {3, 5, 10});
  const Tensor<double> o = RunningAverage<double>({7, 7, 7}, values);
  EXPECT_DOUBLE_EQ(o[0], 3);
  EXPECT_DOUBLE_EQ(o[1], 4);
  EXPECT_DOUBLE_EQ(o[2], 6);
}

TEST(RunningAverage, RisingAndFallingScores) {
  const double e = std::exp(1.0);
  const Tensor<double> values({3, 1}, {1, 2, 4});
  const Tensor<double> rising = RunningAverage<double>({0, 1, 2}, values);
  EXPECT_NEAR(rising[1], (1 + 2 * e) / (1 + e), 1e-15);
  EXPECT_NEAR(rising[2], (1 + 2 * e + 4 * e * e) / (1 + e + e * e), 1e-15);
  const Tensor<double> falling = RunningAverage<double>({2, 1, 0}, values);
  EXPECT_NEAR(falling[2], (e * e + 2 * e + 4) / (1 + e + e * e), 1e-15);
  // Nothing overflows.
  EXPECT_EQ(RunningAverage<double>({0, 2000, 1000}, values)[2], 2);
}

// Against the definition on drawn rows. Each step rounds under a dozen times,
// on values below 6, and T <= 30.
TEST(RunningAverage, IsTheCausalSoftmaxAverage) {
  RandomStream stream(/*seed=*/61, "running average test");
  for (int c = 0; c < 1000; ++c) {
    SCOPED_TRACE(testing::Message() << "seed 61, case " << c);
    const int64_t positions = 1 + stream.UniformInt(30);
    std::vector<double> scores(positions);
    Tensor<double> values({positions, 2});
    stream.FillGaussian(absl::MakeSpan(scores));
    for (double& score : scores) score *= c % 2 == 0 ? 1 : 10;
    stream.FillGaussian(absl::MakeSpan(values.elements()));
    const Tensor<double> found = RunningAverage(scores, values);
    for (int64_t t = 0; t < positions; ++t) {
      double sum = 0;
      double first = 0;
      double second = 0;
      for (int64_t j = 0; j <= t; ++j) {
        const double weight = std::exp(scores[j]);
        sum += weight;
        first += weight * values(j, 0);
        second += weight * values(j, 1);
      }
      EXPECT_NEAR(found(t, 0), first / sum, 12 * 30 * 6 * 0x1p-53);
      EXPECT_NEAR(found(t, 1), second / sum, 12 * 30 * 6 * 0x1p-53);
    }
  }
}

TEST(RunningAverage, EveryStepWaitsForTheOneBefore) {
  Trace trace;
  const Tensor<Traced> values =
      TracedTensor(Tensor<double>({5, 2}), &trace, Traced::kSource);
  std::vector<Traced> scores;
  for (int j = 0; j < 5; ++j) {
    scores.emplace_back(0.5 * j, &trace, Traced::kSource);
  }
  const Tensor<Traced> found = RunningAverage(scores, values);
  for (int64_t t = 0; t < 5; ++t) EXPECT_EQ(found(t, 1).updates(), t + 1);
}

}  // namespace
}  // namespace softlookup
