#include "attention/score_functions.h"

#include <cmath>
#include <complex>
#include <cstdint>

#include "attention/softmax.h"
#include "attention/testing/gradient_check.h"
#include "base/random/random.h"
#include "base/tensor/shape.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

constexpr double kUnit = 0x1p-53;  // the rounding unit of double
using Complex = std::complex<double>;
using Vector = std::vector<double>;

TEST(AdditiveScore, ByHand) {
  // tanh(log(3) / 2) = (3 - 1) / (3 + 1) = 1/2, and tanh is odd.
  const double half = std::log(3.0) / 2;
  AdditiveWeights<double> weights;
  weights.state = Tensor<double>({2, 2}, {half, 0, 0, 1});
  weights.position = Tensor<double>({2, 1}, {0, -half});
  weights.output = Tensor<double>({2}, {3, 10});
  // W s + U h = (half, 0) + (0, -half): scores 3/2 - 10/2.
  EXPECT_NEAR(AdditiveScore<double>(weights, {1, 0}, {1}), -3.5,
              4 * 6.5 * kUnit);
  // (2 half - ..): W s = (half, half), U h = (0, -half): 3/2 + 0.
  EXPECT_NEAR(AdditiveScore<double>(weights, {1, half}, {1}), 1.5,
              4 * 1.5 * kUnit);
}

TEST(DotScore, ByHand) {
  EXPECT_EQ(DotScore<double>({1, 2, 3}, {4, -5, 6}), 12.0);
}

TEST(BilinearScore, ByHand) {
  const Tensor<double> w({2, 3}, {1, 0, 2, 0, -1, 0});
  // (3, 4) W = (3, -4, 6).
  EXPECT_EQ(BilinearScore<double>({3, 4}, w, {1, 1, 10}), 59.0);
}

TEST(BilinearScore, OfTheIdentityIsTheDotScore) {
  const Tensor<double> identity({2, 2}, {1, 0, 0, 1});
  EXPECT_EQ(BilinearScore<double>({0.3, -0.7}, identity, {1.1, 0.2}),
            DotScore<double>({0.3, -0.7}, {1.1, 0.2}));
}

TEST(ContextVector, ByHand) {
  const Tensor<double> h({3, 2}, {1, 0, 0, 2, 3, 3});
  EXPECT_EQ(ContextVector<double>({0.5, 0.25, 0.25}, h.view()),
            (Vector{1.25, 1.25}));
}

TEST(ContextVector, OfDotScoresIsTheChaptersLookup) {
  const Tensor<double> keys({3, 2}, {1, 0, 0, 1, 1, 1});
  const Tensor<double> values({3, 2}, {1, 0, 0, 2, 3, 3});
  const double s = 1 / std::sqrt(2.0);
  const Tensor<double> query({1, 2}, {s, s});
  const Tensor<double> scores = DotScores<double>(query.view(), keys.view());
  const Vector p = Softmax<double>(scores.elements());
  const Vector context = ContextVector<double>(p, values.view());
  EXPECT_NEAR(context[0], 1.759, 0.0005);
  EXPECT_NEAR(context[1], 2.007, 0.0005);
}

TEST(ScoreFunctionsDeathTest, SizesMustAgree) {
  AdditiveWeights<double> weights;
  weights.state = Tensor<double>({2, 2});
  weights.position = Tensor<double>({3, 2});
  weights.output = Tensor<double>({2});
  EXPECT_DEATH(AdditiveScore<double>(weights, {1, 0}, {1, 0}),
               "W, U and v agree");
  weights.position = Tensor<double>({2, 2});
  weights.output = Tensor<double>({3});
  EXPECT_DEATH(AdditiveScore<double>(weights, {1, 0}, {1, 0}),
               "W, U and v agree");
  EXPECT_DEATH(DotScore<double>({1, 2}, {1, 2, 3}), "equal inner sizes");
}

// Drawn states, positions and weights.
struct Drawn {
  explicit Drawn(RandomStream& stream) {
    const auto size = [&stream]() -> int64_t {
      return 1 + stream.UniformInt(5);
    };
    const auto gaussians = [&stream](Shape shape) {
      Tensor<double> tensor(std::move(shape));
      stream.FillGaussian(absl::MakeSpan(tensor.elements()));
      return tensor;
    };
    const int64_t n = size(), t = size(), ds = size(), dh = size(), a = size();
    states = gaussians({n, ds});
    positions = gaussians({t, dh});
    equal_positions = gaussians({t, ds});
    w = gaussians({ds, dh});
    additive = {gaussians({a, ds}), gaussians({a, dh}), gaussians({a})};
  }
  static Vector Row(const Tensor<double>& matrix, int64_t i) {
    const double* begin = matrix.data() + i * matrix.dim(1);
    return Vector(begin, begin + matrix.dim(1));
  }

  Tensor<double> states, positions, equal_positions, w;
  AdditiveWeights<double> additive;
};

TEST(ScoreFunctions, AllAtOnceEqualsOneByOneToTheBit) {
  constexpr uint64_t kSeed = 21;
  RandomStream stream(kSeed, "score_functions_test");
  for (int c = 0; c < 1000; ++c) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", case " << c);
    const Drawn drawn(stream);
    const Tensor<double> additive = AdditiveScores<double>(
        drawn.additive, drawn.states.view(), drawn.positions.view());
    const Tensor<double> dot =
        DotScores<double>(drawn.states.view(), drawn.equal_positions.view());
    const Tensor<double> bilinear = BilinearScores<double>(
        drawn.states.view(), drawn.w, drawn.positions.view());
    const Shape shape = {drawn.states.dim(0), drawn.positions.dim(0)};
    ASSERT_EQ(additive.shape(), shape);
    ASSERT_EQ(dot.shape(), shape);
    ASSERT_EQ(bilinear.shape(), shape);
    for (int64_t i = 0; i < shape[0]; ++i) {
      for (int64_t j = 0; j < shape[1]; ++j) {
        const Vector s = Drawn::Row(drawn.states, i);
        const Vector h = Drawn::Row(drawn.positions, j);
        ASSERT_EQ(additive(i, j), AdditiveScore<double>(drawn.additive, s, h));
        ASSERT_EQ(bilinear(i, j), BilinearScore<double>(s, drawn.w, h));
        ASSERT_EQ(dot(i, j),
                  DotScore<double>(s, Drawn::Row(drawn.equal_positions, j)));
      }
    }
  }
}

TEST(ScoreFunctions, MatchTheFormulasInExtendedPrecision) {
  constexpr uint64_t kSeed = 22;
  RandomStream stream(kSeed, "score_functions_test");
  for (int n = 0; n < 1000; ++n) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", case " << n);
    const Drawn drawn(stream);
    const Vector s = Drawn::Row(drawn.states, 0);
    const Vector h = Drawn::Row(drawn.positions, 0);
    const AdditiveWeights<double>& weights = drawn.additive;
    long double additive = 0, additive_size = 0;
    for (int64_t a = 0; a < weights.output.dim(0); ++a) {
      long double sum = 0, size = 0;
      for (size_t k = 0; k < s.size(); ++k) {
        const long double term =
            static_cast<long double>(weights.state(a, k)) * s[k];
        sum += term;
        size += std::abs(term);
      }
      for (size_t k = 0; k < h.size(); ++k) {
        const long double term =
            static_cast<long double>(weights.position(a, k)) * h[k];
        sum += term;
        size += std::abs(term);
      }
      additive += weights.output[a] * std::tanh(sum);
      // tanh' <= 1 passes the argument's error on: up to 7 roundings of the
      // terms' size. Its own error is 2 u, then up to 6 for this sum.
      additive_size += std::abs(weights.output[a]) * (7 * size + 8);
    }
    ASSERT_NEAR(AdditiveScore<double>(weights, s, h),
                static_cast<double>(additive),
                static_cast<double>(additive_size) * kUnit);
    long double bilinear = 0, bilinear_size = 0;
    for (size_t k = 0; k < s.size(); ++k) {
      for (size_t l = 0; l < h.size(); ++l) {
        const long double term =
            static_cast<long double>(s[k]) * drawn.w(k, l) * h[l];
        bilinear += term;
        bilinear_size += std::abs(term);
      }
    }
    // Two products and at most five sums each way.
    ASSERT_NEAR(BilinearScore<double>(s, drawn.w, h),
                static_cast<double>(bilinear),
                12 * kUnit * static_cast<double>(bilinear_size));
  }
}

TEST(ScoreFunctions, ComplexStepGivesTheAdditiveScoresDerivative) {
  // d/ds tanh(w s + u h) = w (1 - tanh^2).
  AdditiveWeights<Complex> weights;
  weights.state = Tensor<Complex>({1, 1}, {Complex(0.7)});
  weights.position = Tensor<Complex>({1, 1}, {Complex(-0.4)});
  weights.output = Tensor<Complex>({1}, {Complex(2.0)});
  const std::vector<Complex> s = {Complex(0.3, kComplexStep)};
  const std::vector<Complex> h = {Complex(1.5)};
  const double tanh = std::tanh(0.7 * 0.3 - 0.4 * 1.5);
  EXPECT_NEAR(Derivative(AdditiveScore<Complex>(weights, s, h)),
              2 * 0.7 * (1 - tanh * tanh), 10 * 1.4 * kUnit);
}

}  // namespace
}  // namespace softlookup
