#include "experiments/layer_cost/decode_memory.h"

#include <vector>

#include "absl/types/span.h"
#include "attention/attention.h"
#include "attention/reference/attention_reference.h"
#include "base/random/random.h"
#include "experiments/layer_cost/sequence_layers.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

constexpr int64_t kT = 9;
constexpr int64_t kD = 4;

Tensor<double> Gaussians(const Shape& shape, RandomStream& stream) {
  Tensor<double> tensor(shape);
  stream.FillGaussian(absl::MakeSpan(tensor.elements()));
  return tensor;
}

TEST(RecurrentGenerator, StepsAreTheStatesOfTheWholeSequence) {
  RandomStream stream(/*seed=*/51, "recurrent generation test");
  const Tensor<double> w = Gaussians({kD, kD}, stream);
  const Tensor<double> u = Gaussians({kD, kD}, stream);
  const Tensor<double> x = Gaussians({kT, kD}, stream);
  const Tensor<double> states = RecurrentStates<double>(
      w, Project(x, u), std::vector<double>(kD, 0), Nonlinearity::kTanh);
  RecurrentGenerator layer(w, u);
  EXPECT_EQ(layer.memory(), kD);
  for (int64_t t = 0; t < kT; ++t) {
    EXPECT_EQ(layer.Step(RowCopy(x, t)), RowCopy(states, t)) << t;
    EXPECT_EQ(layer.memory(), kD);
  }
}

TEST(CachedAttention, StepsAreTheRowsOfCausalAttention) {
  RandomStream stream(/*seed=*/52, "cached attention test");
  const HeadWeights w = {Gaussians({kD, kD}, stream),
                         Gaussians({kD, kD}, stream),
                         Gaussians({kD, kD}, stream)};
  const Tensor<double> x = Gaussians({kT, kD}, stream);
  const Shape shape = {1, 1, kT, kD};
  const Tensor<double> q(shape, Project(x, w.query).elements());
  const Tensor<double> k(shape, Project(x, w.key).elements());
  const Tensor<double> v(shape, Project(x, w.value).elements());
  AttentionInputs<double> inputs;
  inputs.query = q.view();
  inputs.key = k.view();
  inputs.value = v.view();
  inputs.mask.causal = CausalAlignment::kTopLeft;
  const Tensor<double> expected =
      reference::AttentionForward(inputs, {}).value().output;
  CachedAttention layer(w);
  EXPECT_EQ(layer.memory(), 0);
  for (int64_t t = 0; t < kT; ++t) {
    const std::vector<double> output = layer.Step(RowCopy(x, t));
    for (int64_t i = 0; i < kD; ++i) {
      // The same sums in the same order; the scale may differ by one rounding.
      EXPECT_NEAR(output[i], expected(0, 0, t, i), 1e-13);
    }
    EXPECT_EQ(layer.memory(), 2 * (t + 1) * kD);
  }
}

TEST(DecodeMemory, ConstantStateAndGrowingCache) {
  const DecodeMemory found =
      MeasureDecodeMemory(
          DrawDecodeInputs({.tokens = 10, .width = 3, .seed = 2}))
          .value();
  ASSERT_EQ(found.recurrent_memory.size(), 10);
  EXPECT_EQ(found.recurrent_memory[9], 3);
  EXPECT_EQ(found.recurrent_growth, 0);
  EXPECT_EQ(found.attention_memory[0], 2 * 3);
  EXPECT_EQ(found.attention_memory[9], 2 * 10 * 3);
  EXPECT_EQ(found.attention_growth, 2 * 9 * 3);
  EXPECT_EQ(found.formula_deviation, 0);
  EXPECT_LT(found.output_deviation, 100 * 0x1p-53);
}

}  // namespace
}  // namespace softlookup
