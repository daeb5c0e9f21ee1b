#include <cmath>
#include <vector>

#include "absl/types/span.h"
#include "attention/testing/gradient_check.h"
#include "base/random/random.h"
#include "experiments/layer_cost/gradient_reach.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

Tensor<double> Gaussians(const Shape& shape, RandomStream& stream) {
  Tensor<double> tensor(shape);
  stream.FillGaussian(absl::MakeSpan(tensor.elements()));
  return tensor;
}

// Every element against a central difference with step 5e-6: truncation below
// 1e-10 for these sizes, rounding about 1e-16 / 5e-6 = 2e-11 of the output.
constexpr double kDifferenceTolerance = 1e-8;

TEST(RecurrentJacobians, CentralDifferences) {
  RandomStream stream(/*seed=*/71, "recurrent jacobian test");
  for (int c = 0; c < 20; ++c) {
    SCOPED_TRACE(testing::Message() << "seed 71, case " << c);
    const int64_t d = 1 + stream.UniformInt(3);
    const int64_t positions = 1 + stream.UniformInt(4);
    const Nonlinearity f =
        c % 2 == 0 ? Nonlinearity::kTanh : Nonlinearity::kIdentity;
    const RecurrentWeights w = {Gaussians({d, d}, stream),
                                Gaussians({d, d}, stream)};
    const Tensor<double> x = Gaussians({positions, d}, stream);
    const std::vector<Tensor<double>> found = RecurrentJacobians(x, w, f);
    ASSERT_EQ(found.size(), positions);
    for (int64_t i = 0; i < d; ++i) {
      const auto component = [&](absl::Span<const double> tokens) {
        const Tensor<double> states = RecurrentStates(
            w.state,
            Project(
                Tensor<double>({positions, d}, {tokens.begin(), tokens.end()}),
                w.input),
            std::vector<double>(d, 0.0), f);
        return states(positions - 1, i);
      };
      const std::vector<double> expected =
          CentralDifferenceGradient(component, x.elements(), 5e-6);
      for (int64_t n = 0; n < positions; ++n) {
        for (int64_t a = 0; a < d; ++a) {
          EXPECT_NEAR(found[n](i, a), expected[(positions - 1 - n) * d + a],
                      kDifferenceTolerance * (1 + std::abs(found[n](i, a))));
        }
      }
    }
  }
}

TEST(AttentionJacobians, CentralDifferences) {
  RandomStream stream(/*seed=*/72, "attention jacobian test");
  for (int c = 0; c < 20; ++c) {
    SCOPED_TRACE(testing::Message() << "seed 72, case " << c);
    const int64_t d = 1 + stream.UniformInt(3);
    const int64_t positions = 1 + stream.UniformInt(4);
    const HeadWeights w = {Gaussians({d, d}, stream), Gaussians({d, d}, stream),
                           Gaussians({d, d}, stream)};
    const Tensor<double> x = Gaussians({positions, d}, stream);
    const std::vector<double> query =
        RowCopy(Project(x, w.query), positions - 1);
    const std::vector<Tensor<double>> found = AttentionJacobians(x, w).value();
    ASSERT_EQ(found.size(), positions);
    for (int64_t i = 0; i < d; ++i) {
      const auto component = [&](absl::Span<const double> tokens) {
        const Tensor<double> read({positions, d},
                                  {tokens.begin(), tokens.end()});
        return AttentionRow(query, Project(read, w.key),
                            Project(read, w.value))[i];
      };
      const std::vector<double> expected =
          CentralDifferenceGradient(component, x.elements(), 5e-6);
      for (int64_t n = 0; n < positions; ++n) {
        for (int64_t a = 0; a < d; ++a) {
          EXPECT_NEAR(found[n](i, a), expected[(positions - 1 - n) * d + a],
                      kDifferenceTolerance * (1 + std::abs(found[n](i, a))));
        }
      }
    }
  }
}

TEST(EffectiveDirections, CountsSingularValuesByTheirShare) {
  EXPECT_DOUBLE_EQ(EffectiveDirections(Tensor<double>({2, 2}, {3, 0, 0, 3})),
                   2);
  // Singular values 1 and 2: (1 + 4)^2 / (1 + 16).
  EXPECT_DOUBLE_EQ(EffectiveDirections(Tensor<double>({2, 2}, {0, 2, 1, 0})),
                   25.0 / 17);
  // Rank 1.
  EXPECT_DOUBLE_EQ(EffectiveDirections(Tensor<double>({2, 2}, {1, 2, 2, 4})),
                   1);
  // Squares that underflow.
  EXPECT_DOUBLE_EQ(
      EffectiveDirections(Tensor<double>({2, 2}, {1e-120, 0, 0, 1e-120})), 2);
}

}  // namespace
}  // namespace softlookup
