#include "attention/cudnn/visibility.h"

#include <vector>

#include "attention/attention.h"
#include "attention/testing/random_attention.h"
#include "base/random/random.h"
#include "base/tensor/tensor.h"
#include "gtest/gtest.h"

namespace softlookup::cudnn {
namespace {

// Against AttentionCase::Visible, pair by pair.
TEST(FindVisibilityTest, IsWhatTheDefinitionsSay) {
  int with_bias = 0;
  int without = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    RandomStream stream(seed, "visibility_test");
    const AttentionCase<double> drawn = DrawAttentionCase(stream);
    SCOPED_TRACE(Describe(drawn));
    const AttentionSizes& sizes = drawn.sizes;
    AttentionInputs<float> inputs;
    Tensor<float> bias;
    if (drawn.bias.has_value()) {
      bias = Tensor<float>(drawn.bias->shape());
      for (int64_t n = 0; n < bias.size(); ++n) {
        bias[n] = static_cast<float>((*drawn.bias)[n]);
      }
      const Tensor<float>& filled = bias;
      inputs.bias = filled.view();
    }
    inputs.mask = drawn.inputs().mask;
    drawn.bias.has_value() || drawn.allowed.has_value() ? ++with_bias
                                                        : ++without;

    Tensor<uint8_t> row({sizes.batch, sizes.query_heads, sizes.queries});
    Tensor<uint8_t> key({sizes.batch, sizes.key_heads, sizes.keys});
    Tensor<uint8_t> of_bias(bias.shape());
    for (int64_t b = 0; b < sizes.batch; ++b) {
      for (int64_t h = 0; h < sizes.query_heads; ++h) {
        for (int64_t i = 0; i < sizes.queries; ++i) {
          for (int64_t j = 0; j < sizes.keys; ++j) {
            if (!drawn.Visible(b, h, i, j)) continue;
            row(b, h, i) = 1;
            key(b, h * sizes.key_heads / sizes.query_heads, j) = 1;
            if (drawn.bias.has_value()) {
              of_bias(b % bias.dim(0), h % bias.dim(1), i % bias.dim(2),
                      j % bias.dim(3)) = 1;
            }
          }
        }
      }
    }
    const Visibility visible = FindVisibility(inputs, sizes);
    EXPECT_EQ(visible.row.elements(), row.elements());
    EXPECT_EQ(visible.key.elements(), key.elements());
    ASSERT_EQ(visible.bias.has_value(), drawn.bias.has_value());
    if (drawn.bias.has_value()) {
      EXPECT_EQ(visible.bias->elements(), of_bias.elements());
    }
  }
  EXPECT_GT(with_bias, 50);
  EXPECT_GT(without, 50);
}

}  // namespace
}  // namespace softlookup::cudnn
