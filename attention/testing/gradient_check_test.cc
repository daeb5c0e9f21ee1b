#include "attention/testing/gradient_check.h"

#include <cmath>

#include "base/elementary.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

constexpr double kUnit = 0x1p-53;  // the rounding unit of double
using Complex = std::complex<double>;

// f(x, y) = e^x y^3, with gradient (e^x y^3, 3 e^x y^2).
template <typename T>
T Function(absl::Span<const T> x) {
  return Exp(x[0]) * x[1] * x[1] * x[1];
}

TEST(ComplexStep, GradientToRounding) {
  const std::vector<double> gradient =
      ComplexStepGradient(Function<Complex>, {1.0, 2.0});
  ASSERT_EQ(gradient.size(), 2u);
  const double e = std::exp(1.0);
  EXPECT_NEAR(gradient[0], 8 * e, 8 * kUnit * 8 * e);
  EXPECT_NEAR(gradient[1], 12 * e, 8 * kUnit * 12 * e);
}

TEST(ComplexStep, DerivativeAlongADirection) {
  const double e = std::exp(1.0);
  EXPECT_NEAR(ComplexStepDerivative(Function<Complex>, {1.0, 2.0}, {0.5, -1.0}),
              4 * e - 12 * e, 8 * kUnit * 16 * e);
}

TEST(ComplexStep, KeepsDerivativesThatADifferenceLoses) {
  // d/dx (1e8 + x^2) at 1e-5: the square is lost beside 1e8 in any
  // difference, but not in the imaginary part.
  const auto f = [](absl::Span<const Complex> x) { return 1e8 + x[0] * x[0]; };
  EXPECT_NEAR(ComplexStepDerivative(f, {1e-5}, {1.0}), 2e-5, 4 * kUnit * 2e-5);
}

TEST(ComplexStep, MovesTensors) {
  const Tensor<double> x({2, 1}, {3.0, 4.0});
  const Tensor<double> direction({2, 1}, {1.0, -2.0});
  const Tensor<Complex> moved = ComplexStep(x, direction);
  EXPECT_EQ(moved.shape(), (Shape{2, 1}));
  EXPECT_EQ(moved[0], Complex(3.0, 1e-50));
  EXPECT_EQ(moved[1], Complex(4.0, -2e-50));
  EXPECT_EQ(Derivative(moved[1]), -2.0);
  const Tensor<Complex> lifted = ToComplex(x);
  EXPECT_EQ(lifted.shape(), (Shape{2, 1}));
  EXPECT_EQ(lifted[1], Complex(4.0, 0.0));
}

TEST(CentralDifference, ExactForAQuadratic) {
  // Powers of two throughout: no rounding, and no cubic term.
  const auto f = [](absl::Span<const double> x) { return x[0] * x[0] + x[1]; };
  EXPECT_EQ(CentralDifference(f, {2.0, 1.0}, {1.0, 4.0}, 0.25), 8.0);
  EXPECT_EQ(CentralDifferenceGradient(f, {2.0, 1.0}, 0.25),
            (std::vector<double>{4.0, 1.0}));
}

TEST(CentralDifference, TruncationFallsWithTheSquareOfTheStep) {
  // (x + h)^3 - (x - h)^3 = 2 h (3 x^2 + h^2).
  const auto f = [](absl::Span<const double> x) { return x[0] * x[0] * x[0]; };
  EXPECT_EQ(CentralDifference(f, {1.0}, {1.0}, 0.5), 3.25);
  EXPECT_EQ(CentralDifference(f, {1.0}, {1.0}, 0.25), 3.0625);
}

TEST(GradientCheckDeathTest, DirectionsMustMatch) {
  EXPECT_DEATH(ComplexStepDerivative(Function<Complex>, {1.0, 2.0}, {1.0}),
               "one element of the direction per element of x");
  EXPECT_DEATH(ComplexStep(Tensor<double>({2, 1}), Tensor<double>({1, 2})),
               "a direction of the tensor's shape");
}

}  // namespace
}  // namespace softlookup
