#include "attention/softmax.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "base/random/random.h"
#include "base/tensor/tensor.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

constexpr double kUnit = 0x1p-53;  // the rounding unit of double
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr int kCases = 1000;
using Complex = std::complex<double>;
using Row = std::vector<double>;

void ExpectNear(const Row& actual, const Row& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    EXPECT_NEAR(actual[i], expected[i], tolerance) << "element " << i;
  }
}

void ExpectAllNaN(const Row& row, size_t size) {
  EXPECT_EQ(row.size(), size);
  for (const double element : row) EXPECT_TRUE(std::isnan(element));
}

TEST(Softmax, ClosedForm) {
  const Row scores = {0.0, std::log(2.0), std::log(3.0)};
  ExpectNear(Softmax<double>(scores), {1 / 6.0, 2 / 6.0, 3 / 6.0}, 8 * kUnit);
  EXPECT_NEAR(LogSumExp<double>(scores), std::log(6.0), 8 * kUnit);
}

TEST(Softmax, SingleAndEqualScores) {
  EXPECT_EQ(Softmax<double>({-7.0}), Row{1.0});
  EXPECT_EQ(LogSumExp<double>({-7.0}), -7.0);
  EXPECT_EQ(Softmax<double>({5.0, 5.0, 5.0, 5.0}), Row(4, 0.25));
}

TEST(Softmax, ScoreFactorSharpensTowardsTheBestKey) {
  // The chapter's lookup of (1, 1): at factor 10 nearly all of the third key.
  const double s = std::sqrt(2.0);
  ExpectNear(Softmax<double>({1 / s, 1 / s, 2 / s}), {0.248, 0.248, 0.503},
             0.0005);
  ExpectNear(Softmax<double>({10 / s, 10 / s, 20 / s}), {0.001, 0.001, 0.998},
             0.0005);
  EXPECT_EQ(Softmax<double>({0.0, 0.0, 0.0}), Row(3, 1.0 / 3.0));
}

TEST(Softmax, LargeScoresDoNotOverflow) {
  EXPECT_EQ(Softmax<double>({1e4, 1e4}), (Row{0.5, 0.5}));
  EXPECT_EQ(Softmax<double>({-1e4, -1e4}), (Row{0.5, 0.5}));
  EXPECT_EQ(Softmax<double>({0.0, 1e300}), (Row{0.0, 1.0}));
  EXPECT_EQ(LogSumExp<double>({1e4}), 1e4);
  EXPECT_EQ(LogSumExp<double>({-1e300, -1e300}), -1e300);
}

TEST(SoftmaxWithoutMaximum, OverflowsAndUnderflowsToNaN) {
  // exp(710) is beyond the largest double, about exp(709.78).
  const Row overflow = SoftmaxWithoutMaximum<double>({710.0, 0.0});
  EXPECT_TRUE(std::isnan(overflow[0]));
  EXPECT_EQ(overflow[1], 0.0);
  ExpectAllNaN(SoftmaxWithoutMaximum<double>({-800.0, -800.0}), 2);
  EXPECT_EQ(Softmax<double>({710.0, 710.0}), (Row{0.5, 0.5}));
  EXPECT_EQ(Softmax<double>({-800.0, -800.0}), (Row{0.5, 0.5}));
}

TEST(SoftmaxWithoutMaximum, AgreesOnModerateScores) {
  const Row scores = {0.0, std::log(2.0), std::log(3.0)};
  ExpectNear(SoftmaxWithoutMaximum<double>(scores), {1 / 6.0, 2 / 6.0, 3 / 6.0},
             8 * kUnit);
}

TEST(Softmax, NonFiniteScoresFollowIeee) {
  EXPECT_TRUE(Softmax<double>({}).empty());
  ExpectAllNaN(Softmax<double>({1.0, kNaN, 2.0}), 3);
  ExpectAllNaN(Softmax<double>({kNaN, 1.0}), 2);
  ExpectAllNaN(Softmax<double>({1.0, kInf}), 2);
  ExpectAllNaN(Softmax<double>({-kInf, -kInf}), 2);
  EXPECT_EQ(Softmax<double>({-kInf, 1.0}), (Row{0.0, 1.0}));
}

TEST(LogSumExp, NonFiniteScores) {
  EXPECT_EQ(LogSumExp<double>({}), -kInf);
  EXPECT_EQ(LogSumExp<double>({-kInf, -kInf}), -kInf);
  EXPECT_EQ(LogSumExp<double>({kInf, 1.0}), kInf);
  EXPECT_EQ(LogSumExp<double>({-kInf, 1.0}), 1.0);
  EXPECT_TRUE(std::isnan(LogSumExp<double>({1.0, kNaN, kInf})));
}

TEST(SoftmaxJacobian, ExactOnBinaryFractions) {
  const Tensor<double> jacobian = SoftmaxJacobian<double>({0.5, 0.25, 0.25});
  EXPECT_EQ(jacobian.shape(), (Shape{3, 3}));
  EXPECT_EQ(jacobian.elements(), (Row{0.25, -0.125, -0.125,     //
                                      -0.125, 0.1875, -0.0625,  //
                                      -0.125, -0.0625, 0.1875}));
  EXPECT_EQ(SoftmaxJacobianTrace<double>({0.5, 0.25, 0.25}), 0.625);
  EXPECT_EQ(SoftmaxJacobianProduct<double>({0.5, 0.25, 0.25}, {4.0, 8.0, 0.0}),
            (Row{0.0, 1.0, -1.0}));
}

TEST(SoftmaxJacobian, VanishesAtOneHotAndIsLargestAtUniform) {
  EXPECT_EQ(SoftmaxJacobian<double>({0.0, 1.0}).elements(), Row(4, 0.0));
  EXPECT_EQ(SoftmaxJacobianTrace<double>({0.0, 1.0}), 0.0);
  EXPECT_EQ(SoftmaxJacobianTrace<double>(Row(16, 1 / 16.0)), 1.0 - 1 / 16.0);
}

TEST(SoftmaxJacobianTrace, DoesNotCancelNearOneHot) {
  // 1 - p^2 - (1 - p)^2 = 2 p (1 - p), far below the rounding unit of 1.
  const double small = 1e-20;
  EXPECT_NEAR(SoftmaxJacobianTrace<double>({small, 1.0}), small,
              2 * kUnit * small);
}

TEST(SoftmaxJacobianProductDeathTest, NeedsOneGradientPerWeight) {
  EXPECT_DEATH(SoftmaxJacobianProduct<double>({1.0}, {1.0, 2.0}),
               "one gradient per weight");
}

TEST(Softmax, FloatMatchesDouble) {
  const std::vector<float> scores = {0.5f, -1.0f, 2.0f};
  const std::vector<float> p = Softmax<float>(scores);
  const Row exact = Softmax<double>({0.5, -1.0, 2.0});
  // Ten roundings of float, unit 2^-24, of numbers up to 1.
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(p[i], exact[i], 10 * 0x1p-24);
  EXPECT_NEAR(LogSumExp<float>(scores), LogSumExp<double>({0.5, -1.0, 2.0}),
              10 * 4 * 0x1p-24);
}

// A row of 1 to 12 scores of a drawn spread, from nearly equal to saturated.
Row DrawScores(RandomStream& stream) {
  Row scores(1 + stream.UniformInt(12));
  const double spread = std::exp2(8 * stream.Uniform() - 4);
  const double centre = 20 * stream.Gaussian();
  for (double& score : scores) score = centre + spread * stream.Gaussian();
  return scores;
}

double Range(const Row& scores) {
  const auto [low, high] = std::minmax_element(scores.begin(), scores.end());
  return *high - *low;
}

class SoftmaxProperty : public testing::Test {
 protected:
  static constexpr uint64_t kSeed = 20240601;
  RandomStream stream_{kSeed, "softmax_test"};
};

TEST_F(SoftmaxProperty, MatchesExtendedPrecisionWithoutMaximum) {
  for (int n = 0; n < kCases; ++n) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", case " << n);
    const Row scores = DrawScores(stream_);
    // 80-bit exponentials reach e^11356, so nothing needs subtracting.
    long double sum = 0;
    for (const double s : scores) sum += std::exp(static_cast<long double>(s));
    // Relative error of an exponential: its argument s - m is rounded, at
    // most |s - m| u, and the function's own error is 2 u (one ulp). The
    // sum's terms have the same error and add size - 1 roundings; then one
    // division, and one ulp to spare.
    const double size = static_cast<double>(scores.size());
    const double relative = (2 * Range(scores) + size + 6) * kUnit;
    const Row p = Softmax<double>(scores);
    for (size_t i = 0; i < scores.size(); ++i) {
      const double exact = static_cast<double>(
          std::exp(static_cast<long double>(scores[i])) / sum);
      ASSERT_NEAR(p[i], exact, relative * exact) << "weight " << i;
    }
    // The logarithm turns the sum's relative error into an absolute one; the
    // final addition rounds by u |result|, the logarithm by 2 u |log n|.
    const double exact = static_cast<double>(std::log(sum));
    ASSERT_NEAR(LogSumExp<double>(scores), exact,
                relative + (std::abs(exact) + 2 * std::log(size)) * kUnit);
  }
}

TEST_F(SoftmaxProperty, WeightsSumToOne) {
  for (int n = 0; n < kCases; ++n) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", case " << n);
    const Row scores = DrawScores(stream_);
    long double sum = 0;
    for (const double p : Softmax<double>(scores)) {
      ASSERT_GE(p, 0.0);
      sum += p;
    }
    // The divisor carries size - 1 roundings and each division one: at most
    // size u in all, whatever the exponentials' own errors.
    const double bound = 1.001 * static_cast<double>(scores.size()) * kUnit;
    ASSERT_NEAR(static_cast<double>(sum - 1), 0.0, bound);
  }
}

TEST_F(SoftmaxProperty, ShiftingAllScoresChangesNoWeight) {
  for (int n = 0; n < kCases; ++n) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", case " << n);
    Row scores = DrawScores(stream_);
    // On a grid of 2^-30 the shift is exact, so the weights' bits are equal.
    for (double& score : scores) score = std::round(score * 0x1p30) * 0x1p-30;
    Row shifted = scores;
    for (double& score : shifted) score += 1024.0;
    ASSERT_EQ(Softmax<double>(shifted), Softmax<double>(scores));
  }
}

TEST_F(SoftmaxProperty, JacobianIsTheDerivative) {
  const double h = 1e-50;
  for (int n = 0; n < kCases; ++n) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", case " << n);
    const Row scores = DrawScores(stream_);
    const Row p = Softmax<double>(scores);
    const Tensor<double> jacobian = SoftmaxJacobian<double>(p);
    // Both sides carry the weights' relative error of the first property, on
    // terms of at most p_i; a few more roundings in each formula.
    const double size = static_cast<double>(scores.size());
    const double relative = 2 * (2 * Range(scores) + size + 10) * kUnit;
    const size_t j = stream_.UniformInt(static_cast<uint32_t>(scores.size()));
    std::vector<Complex> moved(scores.begin(), scores.end());
    moved[j] += Complex(0, h);
    const std::vector<Complex> q = Softmax<Complex>(moved);
    for (size_t i = 0; i < scores.size(); ++i) {
      ASSERT_NEAR(jacobian(i, j), q[i].imag() / h, relative * p[i])
          << "element " << i << ", " << j;
    }
    // The gradient of log-sum-exp is the weights.
    ASSERT_NEAR(LogSumExp<Complex>(moved).imag() / h, p[j], relative * p[j]);
  }
}

TEST_F(SoftmaxProperty, JacobianProductAndTraceNeedNoJacobian) {
  for (int n = 0; n < kCases; ++n) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", case " << n);
    const Row p = Softmax<double>(DrawScores(stream_));
    Row g(p.size());
    stream_.FillGaussian(absl::MakeSpan(g));
    const Tensor<double> jacobian = SoftmaxJacobian<double>(p);
    const Row product = SoftmaxJacobianProduct<double>(p, g);
    double largest = 0;
    for (const double element : g) {
      largest = std::max(largest, std::abs(element));
    }
    // size + 3 roundings on either side, of terms up to 2 p_i max|g|.
    const double size = static_cast<double>(p.size());
    double trace = 0;
    for (size_t i = 0; i < p.size(); ++i) {
      double expected = 0;
      for (size_t j = 0; j < p.size(); ++j) expected += jacobian(i, j) * g[j];
      ASSERT_NEAR(product[i], expected,
                  2 * (size + 3) * 2 * p[i] * largest * kUnit);
      trace += jacobian(i, i);
    }
    ASSERT_NEAR(SoftmaxJacobianTrace<double>(p), trace, size * kUnit);
  }
}

TEST_F(SoftmaxProperty, JacobianRowsSumToZeroUnderTheUniformBound) {
  for (int n = 0; n < kCases; ++n) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", case " << n);
    const Row p = Softmax<double>(DrawScores(stream_));
    const int64_t size = static_cast<int64_t>(p.size());
    const Tensor<double> jacobian = SoftmaxJacobian<double>(p);
    for (int64_t i = 0; i < size; ++i) {
      long double sum = 0;
      for (int64_t j = 0; j < size; ++j) sum += jacobian(i, j);
      // The weights sum to 1 within size u, and each product rounds twice.
      ASSERT_NEAR(static_cast<double>(sum), 0.0,
                  1.001 * p[i] * (static_cast<double>(size) + 4) * kUnit);
    }
    // 1 - sum p^2 <= 1 - 1/n, with equality for uniform weights only.
    ASSERT_LE(SoftmaxJacobianTrace<double>(p),
              1.0 - 1.0 / static_cast<double>(size) +
                  static_cast<double>(size) * kUnit);
  }
}

}  // namespace
}  // namespace softlookup
