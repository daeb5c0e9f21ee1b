#include "base/tensor/matrix.h"

#include <cmath>
#include <limits>
#include <vector>

#include "base/random/random.h"
#include "base/tensor/shape.h"
#include "base/tensor/tensor.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(Matrix, Product) {
  const Tensor<double> a({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor<double> b({3, 2}, {1, 0, -1, 2, 10, 100});
  const Tensor<double> product = MatrixProduct(a, b);
  EXPECT_EQ(product.shape(), (Shape{2, 2}));
  EXPECT_EQ(product.elements(),
            (std::vector<double>{1 - 2 + 30, 4 + 300, 4 - 5 + 60, 10 + 600}));
}

TEST(Matrix, Transposed) {
  const Tensor<double> a({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(Transposed(a).shape(), (Shape{3, 2}));
  EXPECT_EQ(Transposed(a).elements(), (std::vector<double>{1, 4, 2, 5, 3, 6}));
}

TEST(Matrix, NestedListsOfAnyRank) {
  EXPECT_EQ(NestedLists(Tensor<double>({2, 3}, {1, 2, 3, 4, 5, 6})).dump(),
            "[[1.0,2.0,3.0],[4.0,5.0,6.0]]");
  EXPECT_EQ(NestedLists(Tensor<double>({2, 1, 2}, {1, 2, 3, 4})).dump(),
            "[[[1.0,2.0]],[[3.0,4.0]]]");
  EXPECT_EQ(NestedLists(Tensor<double>({3}, {1, 2, 3})).dump(),
            "[1.0,2.0,3.0]");
}

TEST(Matrix, LargestDifferenceAndMagnitude) {
  const Tensor<double> a({2, 2}, {1, -2, 3, 4});
  const Tensor<double> b({2, 2}, {1, 5, 3, 1});
  EXPECT_EQ(LargestDifference(a, b), 7.0);
  EXPECT_EQ(LargestDifference(a, a), 0.0);
  EXPECT_EQ(LargestMagnitude(Tensor<double>({1, 3}, {1, -6, 3})), 6.0);
  // A NaN is never hidden by a number, before or after it.
  EXPECT_TRUE(std::isnan(LargestMagnitude(Tensor<double>({2}, {kNaN, 1}))));
  EXPECT_TRUE(std::isnan(LargestMagnitude(Tensor<double>({2}, {1, kNaN}))));
  EXPECT_DEATH(LargestDifference(a, Tensor<double>({4})), "one shape");
}

TEST(Matrix, GaussianMatrixHasTheGivenSpread) {
  RandomStream stream(1, "matrix_test");
  const Tensor<double> drawn = GaussianMatrix(stream, 100, 200, 3.0);
  EXPECT_EQ(drawn.shape(), (Shape{100, 200}));
  double sum = 0;
  double squares = 0;
  for (const double x : drawn.elements()) {
    sum += x;
    squares += x * x;
  }
  // Five standard errors of a mean of 20,000: 3 / sqrt(20,000), and for the
  // squares 9 sqrt(2 / 20,000).
  EXPECT_NEAR(sum / 20000, 0, 5 * 3 / std::sqrt(20000.0));
  EXPECT_NEAR(squares / 20000, 9, 5 * 9 * std::sqrt(2 / 20000.0));
}

}  // namespace
}  // namespace softlookup
