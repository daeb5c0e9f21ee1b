#include "base/tensor/linear_algebra.h"

#include <cmath>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "base/random/random.h"
#include "base/tensor/tensor.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

constexpr double kUnit = 0x1p-53;  // the rounding unit of double
constexpr int kCases = 1000;
using Complex = std::complex<double>;

Tensor<double> DrawMatrix(RandomStream& stream, int64_t rows, int64_t columns) {
  Tensor<double> matrix({rows, columns});
  stream.FillGaussian(absl::MakeSpan(matrix.elements()));
  return matrix;
}

TEST(SingularValues, OfADiagonalAndOfARectangle) {
  const Tensor<double> diagonal({2, 2}, {0, -3, 2, 0});
  const std::vector<double> values = SingularValues(diagonal.view()).value();
  ASSERT_EQ(values.size(), 2u);
  EXPECT_NEAR(values[0], 3.0, 8 * 3 * kUnit);
  EXPECT_NEAR(values[1], 2.0, 8 * 3 * kUnit);
  // (3, 4) has the one singular value 5, either way up.
  const Tensor<double> row({1, 2}, {3, 4});
  for (const auto& view : {row.view(), row.view().Transpose(0, 1)}) {
    const std::vector<double> norm = SingularValues(view).value();
    ASSERT_EQ(norm.size(), 1u);
    EXPECT_NEAR(norm[0], 5.0, 8 * 5 * kUnit);
  }
}

TEST(SingularValues, GoldenRatio) {
  // [[1, 1], [0, 1]] has singular values phi and 1 / phi.
  const Tensor<double> shear({2, 2}, {1, 1, 0, 1});
  const std::vector<double> values = SingularValues(shear.view()).value();
  const double phi = (1 + std::sqrt(5.0)) / 2;
  EXPECT_NEAR(values[0], phi, 8 * phi * kUnit);
  EXPECT_NEAR(values[1], 1 / phi, 8 * phi * kUnit);
}

TEST(Eigenvalues, RealOnesByModulus) {
  // Triangular: the diagonal.
  const Tensor<double> triangular({3, 3}, {1, 5, 6, 0, -4, 7, 0, 0, 2});
  const std::vector<Complex> values = Eigenvalues(triangular.view()).value();
  ASSERT_EQ(values.size(), 3u);
  const double tolerance = 100 * kUnit;  // a few roundings of numbers near 10
  EXPECT_NEAR(std::abs(values[0] - Complex(-4)), 0, tolerance);
  EXPECT_NEAR(std::abs(values[1] - Complex(2)), 0, tolerance);
  EXPECT_NEAR(std::abs(values[2] - Complex(1)), 0, tolerance);
}

TEST(Eigenvalues, ConjugatePairWithPositiveImaginaryPartFirst) {
  // 2 (cos 60, sin 60) rotation: 1 +- i sqrt 3.
  const double s = std::sqrt(3.0);
  const Tensor<double> rotation({2, 2}, {1, -s, s, 1});
  const std::vector<Complex> values = Eigenvalues(rotation.view()).value();
  ASSERT_EQ(values.size(), 2u);
  EXPECT_NEAR(std::abs(values[0] - Complex(1, s)), 0, 16 * kUnit);
  EXPECT_NEAR(std::abs(values[1] - Complex(1, -s)), 0, 16 * kUnit);
}

TEST(Eigenvalues, TiesInModulusGoToTheLargerRealPart) {
  const Tensor<double> signs({2, 2}, {-1, 0, 0, 1});
  EXPECT_EQ(Eigenvalues(signs.view()).value(),
            (std::vector<Complex>{1.0, -1.0}));
}

TEST(NumericalRank, CountsValuesAboveTheTolerance) {
  EXPECT_EQ(NumericalRank({3.0, 0.5, 0.25}, 0.25), 2);
  EXPECT_EQ(NumericalRank({0.0}, 0.0), 0);
  EXPECT_EQ(RankTolerance({2.0, 1.0}, 2, 8), 16 * 0x1p-52);
  EXPECT_EQ(RankTolerance({2.0, 1.0}, 8, 2), 16 * 0x1p-52);
}

void ExpectError(const absl::Status& status, const std::string& message) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), message);
}

TEST(LinearAlgebra, NamesWhatIsWrong) {
  const Tensor<double> line({3});
  const Tensor<double> no_columns({2, 0});
  const Tensor<double> no_rows({0, 2});
  Tensor<double> rectangle({2, 3});
  const std::string allowed = "; allowed: rank 2, each dimension at least 1";
  ExpectError(SingularValues(line.view()).status(),
              "matrix has shape [3]" + allowed);
  ExpectError(SingularValues(no_columns.view()).status(),
              "matrix has shape [2, 0]" + allowed);
  ExpectError(Eigenvalues(no_rows.view()).status(),
              "matrix has shape [0, 2]" + allowed);
  ExpectError(Eigenvalues(rectangle.view()).status(),
              "matrix has shape [2, 3]; allowed: a square matrix");
  ExpectError(Eigenvalues(rectangle.view().Transpose(0, 1)).status(),
              "matrix has shape [3, 2]; allowed: a square matrix");
  rectangle(1, 2) = std::numeric_limits<double>::quiet_NaN();
  ExpectError(SingularValues(rectangle.view()).status(),
              "matrix[1, 2] is nan; allowed: finite numbers");
  ExpectError(Eigenvalues(rectangle.view()).status(),
              "matrix[1, 2] is nan; allowed: finite numbers");
}

// Sums of powers of singular values and eigenvalues are sums of elements, so
// they check the algorithms by plain arithmetic. Both algorithms are backward
// stable: their values belong to a matrix within c n u |A| of the given one;
// c = 20 covers a few sweeps.
TEST(LinearAlgebra, TracesOfDrawnMatrices) {
  constexpr uint64_t kSeed = 31;
  RandomStream stream(kSeed, "linear_algebra_test");
  for (int c = 0; c < kCases; ++c) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", case " << c);
    const int64_t n = 1 + stream.UniformInt(6);
    const Tensor<double> a = DrawMatrix(stream, n, n);
    double squares = 0;          // |A|^2 = sum of squared singular values
    double trace = 0;            // tr A = sum of eigenvalues
    double trace_of_square = 0;  // tr A^2 = sum of squared eigenvalues
    for (int64_t i = 0; i < n; ++i) {
      trace += a(i, i);
      for (int64_t j = 0; j < n; ++j) {
        squares += a(i, j) * a(i, j);
        trace_of_square += a(i, j) * a(j, i);
      }
    }
    const double size = static_cast<double>(n);
    const double error = 20 * size * kUnit;
    double sum_of_squares = 0;
    double previous = std::numeric_limits<double>::infinity();
    const std::vector<double> singular_values =
        SingularValues(a.view()).value();
    for (const double value : singular_values) {
      ASSERT_GE(value, 0.0);
      ASSERT_LE(value, previous);
      previous = value;
      sum_of_squares += value * value;
    }
    ASSERT_NEAR(sum_of_squares, squares, error * 2 * squares);
    Complex sum = 0;
    Complex sum_of_eigenvalue_squares = 0;
    double modulus = std::numeric_limits<double>::infinity();
    const std::vector<Complex> eigenvalues = Eigenvalues(a.view()).value();
    for (const Complex& value : eigenvalues) {
      ASSERT_LE(std::norm(value), modulus);
      modulus = std::norm(value);
      sum += value;
      sum_of_eigenvalue_squares += value * value;
    }
    // The trace moves by at most n |E|, the trace of the square by
    // 2 |A| |E|.
    ASSERT_NEAR(std::abs(sum - trace), 0, error * size * std::sqrt(squares));
    ASSERT_NEAR(std::abs(sum_of_eigenvalue_squares - trace_of_square), 0,
                error * 2 * size * squares);
  }
}

TEST(LinearAlgebra, RankOfADrawnProductIsItsInnerSize) {
  constexpr uint64_t kSeed = 32;
  RandomStream stream(kSeed, "linear_algebra_test");
  for (int c = 0; c < kCases; ++c) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", case " << c);
    const int64_t rows = 2 + stream.UniformInt(6);
    const int64_t columns = 2 + stream.UniformInt(6);
    const int64_t inner =
        1 + stream.UniformInt(static_cast<uint32_t>(std::min(rows, columns)));
    // Integers from -8 to 8, so that the product is exact and its rank too.
    Tensor<double> product({rows, columns});
    std::vector<double> left(rows * inner), right(inner * columns);
    for (double& element : left) element = stream.UniformInt(17) - 8.0;
    for (double& element : right) element = stream.UniformInt(17) - 8.0;
    // Echelon form on both sides makes both factors of full rank.
    for (int64_t k = 0; k < inner; ++k) {
      left[k * inner + k] = 9;
      right[k * columns + k] = 9;
      for (int64_t l = k + 1; l < inner; ++l) {
        left[k * inner + l] = 0;
        right[l * columns + k] = 0;
      }
    }
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        for (int64_t k = 0; k < inner; ++k) {
          product(i, j) += left[i * inner + k] * right[k * columns + j];
        }
      }
    }
    const std::vector<double> values = SingularValues(product.view()).value();
    ASSERT_EQ(NumericalRank(values, RankTolerance(values, rows, columns)),
              inner);
  }
}

}  // namespace
}  // namespace softlookup
