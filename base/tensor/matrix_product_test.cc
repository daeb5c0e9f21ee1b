#include "base/tensor/matrix_product.h"

#include <cmath>
#include <complex>
#include <vector>

#include "absl/types/span.h"
#include "base/random/random.h"
#include "base/tensor/shape.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

constexpr double kUnit = 0x1p-53;  // the rounding unit of double

TEST(MatrixProduct, ByHand) {
  const Tensor<double> a({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor<double> b({3, 2}, {1, 0, -1, 2, 0, 1});
  const Tensor<double> product = MatrixProduct<double>(a.view(), b.view());
  EXPECT_EQ(product.shape(), (Shape{2, 2}));
  EXPECT_EQ(product.elements(), (std::vector<double>{-1, 7, -1, 16}));
}

TEST(MatrixProduct, OfTransposedViews) {
  const Tensor<float> a({3, 2}, {1, 4, 2, 5, 3, 6});
  const Tensor<float> b({2, 3}, {1, -1, 0, 0, 2, 1});
  EXPECT_EQ(
      MatrixProduct<float>(a.view().Transpose(0, 1), b.view().Transpose(0, 1))
          .elements(),
      (std::vector<float>{-1, 7, -1, 16}));
}

TEST(MatrixProduct, DoesNotConjugate) {
  using Complex = std::complex<double>;
  const Tensor<Complex> i({1, 1}, {Complex(0, 1)});
  EXPECT_EQ(MatrixProduct<Complex>(i.view(), i.view())[0], Complex(-1, 0));
}

TEST(MatrixProduct, EmptyInnerSizeGivesZeros) {
  EXPECT_EQ(MatrixProduct<double>(Tensor<double>({2, 0}).view(),
                                  Tensor<double>({0, 1}).view())
                .elements(),
            (std::vector<double>{0, 0}));
}

TEST(MatrixProductDeathTest, SizesMustAgree) {
  const Tensor<double> a({2, 3});
  const Tensor<double> line({3});
  EXPECT_DEATH(MatrixProduct<double>(a.view(), a.view()), "equal inner sizes");
  EXPECT_DEATH(MatrixProduct<double>(a.view(), line.view()), "two matrices");
  EXPECT_DEATH(MatrixProduct<double>(line.view(), a.view()), "two matrices");
}

TEST(MatrixProduct, MatchesExtendedPrecisionOnDrawnShapes) {
  constexpr uint64_t kSeed = 11;
  RandomStream stream(kSeed, "matrix_product_test");
  for (int n = 0; n < 1000; ++n) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", case " << n);
    const int64_t rows = 1 + stream.UniformInt(6);
    const int64_t inner = 1 + stream.UniformInt(9);
    const int64_t columns = 1 + stream.UniformInt(6);
    Tensor<double> a({rows, inner});
    Tensor<double> b({inner, columns});
    stream.FillGaussian(absl::MakeSpan(a.elements()));
    stream.FillGaussian(absl::MakeSpan(b.elements()));
    const Tensor<double> product = MatrixProduct<double>(a.view(), b.view());
    for (int64_t i = 0; i < rows; ++i) {
      // A row of the product is the product of the row, to the bit.
      ASSERT_EQ(MatrixProduct<double>(a.view().Slice(0, i, i + 1), b.view())
                    .elements(),
                std::vector<double>(product.data() + i * columns,
                                    product.data() + (i + 1) * columns));
      for (int64_t j = 0; j < columns; ++j) {
        long double exact = 0;
        double size = 0;
        for (int64_t k = 0; k < inner; ++k) {
          exact += static_cast<long double>(a(i, k)) * b(k, j);
          size += std::abs(a(i, k) * b(k, j));
        }
        // One rounding for a term's product and one for each later sum.
        ASSERT_NEAR(product(i, j), static_cast<double>(exact),
                    static_cast<double>(inner + 1) * kUnit * size);
      }
    }
  }
}

}  // namespace
}  // namespace softlookup
