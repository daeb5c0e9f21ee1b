#include "attention/textbook/hand_attention.h"

#include <cmath>
#include <limits>

#include "attention/reference/attention_reference.h"
#include "base/random/random.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The chapter's worked example, section 3: three tokens, width 2.
const Tensor<double>& Query() {
  static const auto& query =
      *new Tensor<double>({1, 1, 3, 2}, {1, 0, 0, 1, 1, 1});
  return query;
}
const Tensor<double>& Value() {
  static const auto& value =
      *new Tensor<double>({1, 1, 3, 2}, {1, 0, 0, 2, 3, 3});
  return value;
}

Tensor<double> Scores() { return HandScores(Query().view(), Query().view()); }

Tensor<double> Average(const Tensor<double>& weights,
                       const Tensor<double>& value) {
  return BatchedProduct<double>(weights.view(), value.view());
}

TEST(HandAttention, CausalWorkedExample) {
  const Tensor<double> weights =
      HandSoftmax(MaskedFill(Scores(), CausalMask(3), -kInfinity));
  const Tensor<double> output = Average(weights, Value());
  const double expected_weights[] = {1, 0,     0,     0.330, 0.670,
                                     0, 0.248, 0.248, 0.503};
  const double expected_output[] = {1, 0, 0.330, 1.340, 1.759, 2.007};
  for (int n = 0; n < 9; ++n) {
    EXPECT_NEAR(weights[n], expected_weights[n], 0.0005) << n;
  }
  for (int n = 0; n < 6; ++n) {
    EXPECT_NEAR(output[n], expected_output[n], 0.0005) << n;
  }
}

TEST(HandAttention, AddingAMaskPutsTheForbiddenValueAboveTheDiagonal) {
  const Tensor<double> additive = AdditiveMask(CausalMask(3), -7.0);
  EXPECT_EQ(additive.elements(),
            (std::vector<double>{0, -7, -7, 0, 0, -7, 0, 0, 0}));
  const Tensor<double> masked = AddMask(Scores(), additive);
  const double root = std::sqrt(2.0);
  EXPECT_EQ(masked(0, 0, 0, 0), 1 / root);
  EXPECT_EQ(masked(0, 0, 0, 2), 1 / root - 7);
  EXPECT_EQ(masked(0, 0, 2, 2), 2 / root);
}

TEST(HandAttention, FullyMaskedRowIsNaNAndSpreadsThroughZeroWeights) {
  BooleanMask nothing({3, 3});
  nothing(1, 0) = 1;
  const Tensor<double> weights =
      HandSoftmax(MaskedFill(Scores(), nothing, -kInfinity));
  EXPECT_TRUE(std::isnan(weights(0, 0, 0, 0)));
  EXPECT_TRUE(std::isnan(weights(0, 0, 2, 1)));
  EXPECT_EQ(weights(0, 0, 1, 0), 1);
  Tensor<double> value = Value();
  EXPECT_EQ(Average(weights, value)(0, 0, 1, 1), 0);
  value(0, 0, 2, 1) = std::nan("");
  // Weight 0 on key 2, yet the NaN arrives.
  EXPECT_TRUE(std::isnan(Average(weights, value)(0, 0, 1, 1)));
}

TEST(HandAttention, ScoreGradientIsTheOraclesBiasGradient) {
  RandomStream stream(1, "hand attention test");
  Tensor<double> q({2, 3, 4, 5}), k({2, 3, 6, 5}), v({2, 3, 6, 2});
  Tensor<double> g({2, 3, 4, 2});
  for (Tensor<double>* tensor : {&q, &k, &v, &g}) {
    stream.FillGaussian(absl::MakeSpan(tensor->elements()));
  }
  const Tensor<double> bias({2, 3, 4, 6});
  AttentionInputs<double> inputs;
  inputs.query = q.view();
  inputs.key = k.view();
  inputs.value = v.view();
  inputs.bias = bias.view();
  const auto expected =
      reference::AttentionBackward<double>(inputs, {}, std::as_const(g).view());
  ASSERT_TRUE(expected.ok()) << expected.status();
  const Tensor<double> weights =
      HandSoftmax(HandScores(inputs.query, inputs.key));
  const Tensor<double> gradient = HandScoreGradient(weights, inputs.value, g);
  for (int64_t n = 0; n < gradient.size(); ++n) {
    // A dozen roundings of terms below 10.
    EXPECT_NEAR(gradient[n], (*expected->bias)[n], 12 * 10 * 0x1p-53) << n;
  }
}

}  // namespace
}  // namespace softlookup
