#include "experiments/permutation/drawn_layer.h"

#include <cmath>

#include "gtest/gtest.h"

namespace softlookup {
namespace {

constexpr double kUnit = 0x1p-53;  // the rounding unit of double

TEST(DrawnLayer, PositionEmbeddings) {
  const Tensor<double> embeddings = PositionEmbeddings(4, 4);
  EXPECT_EQ(embeddings(0, 0), 0.0);
  EXPECT_EQ(embeddings(0, 1), 1.0);
  // Width 4: the second pair turns 100 times more slowly.
  EXPECT_NEAR(embeddings(3, 0), std::sin(3.0), 4 * kUnit);
  EXPECT_NEAR(embeddings(3, 1), std::cos(3.0), 4 * kUnit);
  EXPECT_NEAR(embeddings(3, 2), std::sin(0.03), 4 * kUnit);
  EXPECT_NEAR(embeddings(3, 3), std::cos(0.03), 4 * kUnit);
}

TEST(DrawnLayer, EveryVariantAverages) {
  RandomStream stream(4, "drawn_layer_test");
  const Tensor<double> tokens = DrawTokens(stream, 3);
  const Layer layer = DrawLayer(stream);
  for (const Variant variant : kVariants) {
    const HeadOutputs<double> head = Attend(layer, variant, tokens).value();
    for (int64_t i = 0; i < 3; ++i) {
      double sum = 0;
      for (int64_t j = 0; j < 3; ++j) {
        sum += head.weights(i, j);
        EXPECT_EQ(head.weights(i, j) == 0, variant == Variant::kCausal && j > i)
            << static_cast<int>(variant) << " " << i << " " << j;
      }
      EXPECT_NEAR(sum, 1, 4 * kUnit);
    }
    // An average of three values is no larger than the largest of them.
    if (variant != Variant::kPositions) {
      for (const double x : head.output.elements()) {
        EXPECT_LE(std::abs(x), ValueSize(layer, tokens) * (1 + 8 * kUnit));
      }
    }
  }
}

}  // namespace
}  // namespace softlookup
