#include "experiments/multi_head/problem.h"

#include <cmath>

#include "base/tensor/shape.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

TEST(DrawMultiHead, ShapesVariancesAndStreams) {
  const MultiHeadSizes sizes = {
      .batch = 2, .positions = 16, .width = 64, .heads = 4};
  EXPECT_EQ(sizes.head_width(), 16);
  const MultiHeadProblem problem = DrawMultiHead(1, sizes);
  EXPECT_EQ(problem.x.shape(), (Shape{2, 16, 64}));
  EXPECT_EQ(problem.weights.heads, 4);
  EXPECT_EQ(problem.weights.key_heads, 4);
  const auto variance = [](const Tensor<double>& tensor) {
    double sum = 0;
    for (const double x : tensor.elements()) sum += x * x;
    return sum / static_cast<double>(tensor.size());
  };
  // 4 standard errors of the mean of n squares: 4 sqrt(2 / n).
  EXPECT_NEAR(variance(problem.x), 1, 4 * std::sqrt(2.0 / 2048));
  for (const Tensor<double>* weight :
       {&problem.weights.query, &problem.weights.key, &problem.weights.value,
        &problem.weights.output}) {
    EXPECT_EQ(weight->shape(), (Shape{64, 64}));
    EXPECT_NEAR(variance(*weight) * 64, 1, 4 * std::sqrt(2.0 / 4096));
  }
  EXPECT_NE(problem.weights.query.elements(), problem.weights.key.elements());
  EXPECT_NE(problem.weights.key.elements(), problem.weights.value.elements());
  EXPECT_NE(problem.weights.value.elements(),
            problem.weights.output.elements());
}

TEST(DrawMultiHead, HeadsAreBlocksOfTheSameMatrices) {
  const MultiHeadProblem one =
      DrawMultiHead(1, {.batch = 1, .positions = 2, .width = 8, .heads = 1});
  const MultiHeadProblem four =
      DrawMultiHead(1, {.batch = 1, .positions = 2, .width = 8, .heads = 4});
  EXPECT_EQ(one.weights.query.elements(), four.weights.query.elements());
  const MultiHeadProblem other = DrawMultiHead(
      1, {.batch = 1, .positions = 2, .width = 8, .heads = 1}, "layer 2 ");
  EXPECT_NE(one.weights.query.elements(), other.weights.query.elements());
}

}  // namespace
}  // namespace softlookup
