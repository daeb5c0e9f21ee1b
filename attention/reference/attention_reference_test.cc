#include "attention/reference/attention_reference.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "attention/attention.h"
#include "attention/mask.h"
#include "base/tensor/shape.h"
#include "base/tensor/tensor.h"
#include "gtest/gtest.h"

namespace softlookup::reference {
namespace {

constexpr double kUnit = 0x1p-53;  // the rounding unit of double
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The chapter's worked example, section 3: three tokens, width 2.
struct WorkedExample {
  Tensor<double> query{{1, 1, 3, 2}, {1, 0, 0, 1, 1, 1}};
  Tensor<double> key = query;
  Tensor<double> value{{1, 1, 3, 2}, {1, 0, 0, 2, 3, 3}};

  AttentionInputs<double> inputs(bool causal) const {
    AttentionInputs<double> inputs{
        query.view(), key.view(), value.view(), std::nullopt, {}};
    if (causal) inputs.mask.causal = CausalAlignment::kTopLeft;
    return inputs;
  }
};

void ExpectNear(const Tensor<double>& actual,
                const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(actual.size(), static_cast<int64_t>(expected.size()));
  for (size_t n = 0; n < expected.size(); ++n) {
    EXPECT_NEAR(actual[n], expected[n], tolerance) << "element " << n;
  }
}

AttentionOutputs<double> Forward(const AttentionInputs<double>& inputs,
                                 std::optional<double> scale = {}) {
  AttentionOptions options;
  options.weights = true;
  options.scale = scale;
  return AttentionForward(inputs, options).value();
}

// Half a unit of the third decimal: the chapter prints three.
constexpr double kPrinted = 0.0005;

TEST(WorkedExample, CausalAndScaledAsPrinted) {
  const WorkedExample example;
  const auto outputs = Forward(example.inputs(/*causal=*/true));
  ExpectNear(*outputs.weights, {1, 0, 0, 0.330, 0.670, 0, 0.248, 0.248, 0.503},
             kPrinted);
  ExpectNear(outputs.output, {1, 0, 0.330, 1.340, 1.759, 2.007}, kPrinted);
  // Exactly zero, not merely small, above the diagonal.
  EXPECT_EQ((*outputs.weights)(0, 0, 0, 1), 0.0);
  EXPECT_EQ((*outputs.weights)(0, 0, 0, 2), 0.0);
  EXPECT_EQ((*outputs.weights)(0, 0, 1, 2), 0.0);
}

TEST(WorkedExample, ClosedForm) {
  // With a = e^(1 / sqrt 2) the scaled scores are multiples of 1 / sqrt 2 and
  // the exponentials 1, a and a^2. The scores are exact but for the scale's
  // rounding; ten roundings of numbers below 4 bound the rest.
  const double a = std::exp(1 / std::sqrt(2.0));
  const double tolerance = 10 * 4 * kUnit;
  const WorkedExample example;
  const auto outputs = Forward(example.inputs(/*causal=*/false));
  ExpectNear(*outputs.weights,
             {a / (2 * a + 1), 1 / (2 * a + 1), a / (2 * a + 1),  //
              1 / (2 * a + 1), a / (2 * a + 1), a / (2 * a + 1),  //
              1 / (2 + a), 1 / (2 + a), a / (2 + a)},
             tolerance);
  ExpectNear(
      outputs.log_sum_exp,
      {std::log(2 * a + 1), std::log(2 * a + 1), std::log(2 * a + a * a)},
      tolerance);
  ExpectNear(outputs.output,
             {4 * a / (2 * a + 1), (2 + 3 * a) / (2 * a + 1),  //
              (1 + 3 * a) / (2 * a + 1), 5 * a / (2 * a + 1),  //
              (1 + 3 * a) / (2 + a), (2 + 3 * a) / (2 + a)},
             tolerance);
}

TEST(WorkedExample, UnscaledIsSharper) {
  const WorkedExample example;
  const auto outputs = Forward(example.inputs(/*causal=*/false), 1.0);
  EXPECT_NEAR((*outputs.weights)(0, 0, 2, 2), 0.576, kPrinted);
  EXPECT_NEAR(outputs.output(0, 0, 2, 0), 1.940, kPrinted);
  EXPECT_NEAR(outputs.output(0, 0, 2, 1), 2.152, kPrinted);
}

TEST(WorkedExample, BackwardByHand) {
  // L = o_32. With p the third row's weights and g = (0, 2, 3) the second
  // column of V: ds_j = p_j (g_j - p.g), dq_3 = sum_j ds_j k_j / sqrt 2,
  // dk_j = ds_j q_3 / sqrt 2 and dV_j = (0, p_j).
  const WorkedExample example;
  const Tensor<double> d_output({1, 1, 3, 2}, {0, 0, 0, 0, 0, 1});
  const auto gradients =
      AttentionBackward(example.inputs(/*causal=*/true), {}, d_output.view())
          .value();
  EXPECT_NEAR(gradients.query(0, 0, 2, 0), 0.001, kPrinted);
  EXPECT_NEAR(gradients.query(0, 0, 2, 1), 0.352, kPrinted);

  const double a = std::exp(1 / std::sqrt(2.0));
  const double p[] = {1 / (2 + a), 1 / (2 + a), a / (2 + a)};
  const double g[] = {0, 2, 3};
  const double mean = p[0] * g[0] + p[1] * g[1] + p[2] * g[2];
  double ds[3];
  for (int j = 0; j < 3; ++j) ds[j] = p[j] * (g[j] - mean) / std::sqrt(2.0);
  const double tolerance = 10 * 4 * kUnit;
  ExpectNear(gradients.query, {0, 0, 0, 0, ds[0] + ds[2], ds[1] + ds[2]},
             tolerance);
  ExpectNear(gradients.key, {ds[0], ds[0], ds[1], ds[1], ds[2], ds[2]},
             tolerance);
  ExpectNear(gradients.value, {0, p[0], 0, p[1], 0, p[2]}, tolerance);
  EXPECT_FALSE(gradients.bias.has_value());
}

// One query that sees two keys; each test spoils something.
struct TwoKeys {
  Tensor<double> query{{1, 1, 1, 1}, {1.0}};
  Tensor<double> key{{1, 1, 2, 1}, {0.0, 1.0}};
  Tensor<double> value{{1, 1, 2, 1}, {1.0, 2.0}};
  Tensor<double> bias{{1, 1, 1, 2}};
  Tensor<uint8_t> allowed{{1, 1, 1, 2}, {1, 1}};

  AttentionInputs<double> inputs() const {
    AttentionInputs<double> inputs{
        query.view(), key.view(), value.view(), bias.view(), {}};
    inputs.mask.allowed = allowed.view();
    return inputs;
  }
};

void ExpectNaNRow(const AttentionOutputs<double>& outputs) {
  EXPECT_TRUE(std::isnan(outputs.output[0]));
  EXPECT_TRUE(std::isnan((*outputs.weights)[0]));
  EXPECT_TRUE(std::isnan((*outputs.weights)[1]));
}

TEST(NonFinite, NaNAtAVisiblePositionSpoilsTheRow) {
  for (Tensor<double> TwoKeys::*tensor :
       {&TwoKeys::query, &TwoKeys::key, &TwoKeys::bias}) {
    TwoKeys two;
    (two.*tensor)[0] = kNaN;
    const auto outputs = Forward(two.inputs());
    ExpectNaNRow(outputs);
    EXPECT_TRUE(std::isnan(outputs.log_sum_exp[0]));
  }
}

TEST(NonFinite, ScoreOfPlusInfinityGivesNaNWeights) {
  // As by hand: inf - inf in the exponent.
  TwoKeys two;
  two.bias[0] = kInf;
  const auto outputs = Forward(two.inputs());
  ExpectNaNRow(outputs);
  EXPECT_EQ(outputs.log_sum_exp[0], kInf);
}

TEST(NonFinite, ScoresThatOverflowToMinusInfinityAreVisible) {
  // Unlike a bias of -inf, a score that overflowed masks nothing: one such
  // key has weight 0, and a row of them is 0 / 0.
  TwoKeys two;
  two.query[0] = 1e200;
  two.key[0] = -1e200;
  auto outputs = Forward(two.inputs());
  EXPECT_EQ(outputs.weights->elements(), (std::vector<double>{0.0, 1.0}));
  two.key[1] = -1e200;
  outputs = Forward(two.inputs());
  ExpectNaNRow(outputs);
  EXPECT_EQ(outputs.log_sum_exp[0], -kInf);
}

TEST(NonFinite, ValuesAtVisiblePositionsPropagate) {
  TwoKeys two;
  two.value[1] = kInf;
  EXPECT_EQ(Forward(two.inputs()).output[0], kInf);
  // A visible key of weight 0 still multiplies its value: 0 * inf.
  two.bias[1] = -1e4;
  EXPECT_TRUE(std::isnan(Forward(two.inputs()).output[0]));
}

TEST(NonFinite, BiasOfMinusInfinityMasksWhateverTheScore) {
  TwoKeys two;
  two.bias[1] = -kInf;
  two.key[1] = kInf;
  two.value[1] = kNaN;
  const auto outputs = Forward(two.inputs());
  EXPECT_EQ(outputs.output[0], 1.0);
  EXPECT_EQ(outputs.weights->elements(), (std::vector<double>{1.0, 0.0}));
  EXPECT_EQ(outputs.log_sum_exp[0], 0.0);
}

TEST(FullyMasked, ErrorNamesTheRow) {
  const WorkedExample example;
  AttentionInputs<double> inputs = example.inputs(/*causal=*/true);
  const std::vector<int64_t> starts = {1};
  inputs.mask.key_starts = starts;
  AttentionOptions options;
  options.fully_masked = FullyMasked::kError;
  const absl::Status status = AttentionForward(inputs, options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "query row [b = 0, h = 0, i = 0] has every key masked; allowed "
            "with fully_masked = error: at least one visible key in every "
            "row");
}

TEST(Options, WeightsOnlyOnRequest) {
  const WorkedExample example;
  const auto outputs = AttentionForward(example.inputs(true), {}).value();
  EXPECT_FALSE(outputs.weights.has_value());
  EXPECT_EQ(outputs.output.shape(), (Shape{1, 1, 3, 2}));
  EXPECT_EQ(outputs.log_sum_exp.shape(), (Shape{1, 1, 3}));
}

TEST(Options, BadInputIsAStatus) {
  const WorkedExample example;
  AttentionInputs<double> inputs = example.inputs(true);
  AttentionOptions options;
  options.scale = kNaN;
  EXPECT_EQ(AttentionForward(inputs, options).status().message(),
            "scale is nan; allowed: a finite number");
  EXPECT_EQ(AttentionBackward(inputs, {}, inputs.value.Slice(2, 0, 2))
                .status()
                .message(),
            "output_gradient has shape [1, 1, 2, 2]; allowed: the output's, "
            "[B, H, Tq, Dv] = [1, 1, 3, 2]");
}

// Weights and two matrices of a head's scores, and 16 bytes for a visible key.
TEST(AttentionScratchBytes, OfOneHead) {
  AttentionSizes sizes;
  sizes.queries = 5;
  sizes.keys = 7;
  EXPECT_EQ(reference::AttentionScratchBytes(sizes, 8), 40 * 5 * 7);
  EXPECT_EQ(reference::AttentionScratchBytes(sizes, 4), 28 * 5 * 7);
  sizes.queries = sizes.keys = int64_t{1} << 40;
  EXPECT_EQ(reference::AttentionScratchBytes(sizes, 8),
            std::numeric_limits<int64_t>::max());
}

}  // namespace
}  // namespace softlookup::reference
