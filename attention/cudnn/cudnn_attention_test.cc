// What stands around cuDNN, with a stand-in for it.
#include "attention/cudnn/cudnn_attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "attention/cudnn/testing/cudnn_cases.h"
#include "attention/cudnn/testing/stand_in_runner.h"
#include "attention/reference/attention_reference.h"
#include "base/random/random.h"
#include "base/status.h"
#include "base/tensor/tensor.h"
#include "gtest/gtest.h"

namespace softlookup::cudnn {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Elements that both types hold exactly: multiples of 1/8 up to 2.
Tensor<float> Draw(RandomStream& stream, const Shape& shape) {
  Tensor<float> tensor(shape);
  for (float& element : tensor.elements()) {
    element = (static_cast<float>(stream.UniformInt(33)) - 16) / 8;
  }
  return tensor;
}

CudnnCase DrawCase(uint64_t seed) {
  RandomStream stream(seed, "cudnn_attention_test");
  CudnnCase drawn;
  drawn.query = Draw(stream, {2, 4, 3, 16});
  drawn.key = Draw(stream, {2, 2, 5, 16});
  drawn.value = Draw(stream, {2, 2, 5, 8});
  drawn.gradient = Draw(stream, {2, 4, 3, 8});
  return drawn;
}

Tensor<double> Widen(const Tensor<float>& tensor) {
  return Tensor<double>(tensor.shape(),
                        {tensor.elements().begin(), tensor.elements().end()});
}

// Equal to the reference's up to one rounding to the element type, which is
// at most 2^-8 of the value in bfloat16 (8 significant bits), 2^-11 in float16
// (11 bits) or 2^-25 below its normal numbers.
void ExpectRounded(const Tensor<float>& ours, const Tensor<double>& exact,
                   double relative, const std::string& what) {
  ASSERT_EQ(ours.shape(), exact.shape()) << what;
  for (int64_t n = 0; n < ours.size(); ++n) {
    if (std::isinf(exact[n])) {
      EXPECT_EQ(ours[n], exact[n]) << what << " " << n;
      continue;
    }
    EXPECT_NEAR(ours[n], exact[n], 0x1p-25 + relative * std::abs(exact[n]))
        << what << " " << n;
  }
}

void ExpectTheReference(const CudnnCase& drawn, Dtype element) {
  StandInRunner runner;
  const CudnnAttention attention(&runner, {.element = element});
  const AttentionInputs<float> inputs = drawn.inputs();
  const auto outputs = attention.Forward(inputs, {});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_FALSE(runner.last.backward);
  const auto gradients =
      attention.Backward(inputs, {}, *outputs, drawn.gradient.view());
  ASSERT_TRUE(gradients.ok()) << gradients.status();
  EXPECT_TRUE(runner.last.backward);

  const Tensor<double> query = Widen(drawn.query);
  const Tensor<double> key = Widen(drawn.key);
  const Tensor<double> value = Widen(drawn.value);
  const Tensor<double> gradient = Widen(drawn.gradient);
  Tensor<double> bias;
  AttentionInputs<double> exact_inputs{query.view(), key.view(), value.view(),
                                       std::nullopt, inputs.mask};
  if (drawn.bias.has_value()) {
    bias = Widen(*drawn.bias);
    exact_inputs.bias = std::as_const(bias).view();
  }
  const auto exact = reference::AttentionForward<double>(exact_inputs, {});
  ASSERT_TRUE(exact.ok());
  const auto exact_gradients =
      reference::AttentionBackward<double>(exact_inputs, {}, gradient.view());
  ASSERT_TRUE(exact_gradients.ok());
  const double relative = element == Dtype::kBF16 ? 0x1p-8 : 0x1p-11;
  ExpectRounded(outputs->output, exact->output, relative, "output");
  ExpectRounded(outputs->log_sum_exp, exact->log_sum_exp, 0x1p-24,
                "log_sum_exp");
  ExpectRounded(gradients->query, exact_gradients->query, relative, "query");
  ExpectRounded(gradients->key, exact_gradients->key, relative, "key");
  ExpectRounded(gradients->value, exact_gradients->value, relative, "value");
  ASSERT_EQ(gradients->bias.has_value(), drawn.bias.has_value());
  if (drawn.bias.has_value()) {
    ExpectRounded(*gradients->bias, *exact_gradients->bias, relative, "bias");
  }
}

TEST(CudnnAttentionTest, IsTheReferenceRounded) {
  uint64_t seed = 1;
  for (const Dtype element : {Dtype::kBF16, Dtype::kF16}) {
    for (const CausalAlignment causal :
         {CausalAlignment::kNone, CausalAlignment::kTopLeft,
          CausalAlignment::kBottomRight}) {
      CudnnCase drawn = DrawCase(seed++);
      drawn.problem.causal = causal;
      ExpectTheReference(drawn, element);
      if (causal == CausalAlignment::kBottomRight) continue;
      drawn.lengths = {3, 1};
      ExpectTheReference(drawn, element);
      RandomStream stream(seed, "bias");
      for (const Shape& shape :
           std::vector<Shape>{{1, 1, 3, 5}, {2, 1, 3, 5}, {2, 4, 3, 5}}) {
        drawn.bias = Draw(stream, shape);
        ExpectTheReference(drawn, element);
      }
    }
  }
}

TEST(CudnnAttentionTest, StridesAreKept) {
  RandomStream stream(1, "strides");
  CudnnCase drawn = DrawCase(1);
  const Tensor<float> interleaved = Draw(stream, {2, 3, 4, 16});
  AttentionInputs<float> inputs = drawn.inputs();
  inputs.query = interleaved.view().Transpose(1, 2);
  StandInRunner runner;
  const CudnnAttention attention(&runner, {});
  const auto strided = attention.Forward(inputs, {});
  ASSERT_TRUE(strided.ok()) << strided.status();
  EXPECT_EQ(runner.last.query_strides, Shape({192, 16, 64, 1}));
  drawn.query = Copy(inputs.query);
  const auto contiguous = attention.Forward(drawn.inputs(), {});
  ASSERT_TRUE(contiguous.ok());
  EXPECT_EQ(strided->output.elements(), contiguous->output.elements());
}

TEST(CudnnAttentionTest, RowsThatSeeNothing) {
  CudnnCase drawn = DrawCase(3);
  drawn.lengths = {5, 0};
  ExpectTheReference(drawn, Dtype::kBF16);
  // By a bias, within a batch entry whose other rows see something.
  drawn.lengths.clear();
  RandomStream stream(3, "bias");
  drawn.bias = Draw(stream, {2, 4, 3, 5});
  for (int64_t j = 0; j < 5; ++j) {
    (*drawn.bias)(1, 2, 0, j) = -kInfinity;
    (*drawn.bias)(0, 1, 2, j) = -kInfinity;
  }
  (*drawn.bias)(0, 0, 0, 3) = -kInfinity;
  ExpectTheReference(drawn, Dtype::kF16);

  StandInRunner runner;
  const CudnnAttention attention(&runner, {});
  const auto nan =
      attention.Forward(drawn.inputs(), {.fully_masked = FullyMasked::kNaN});
  ASSERT_TRUE(nan.ok());
  EXPECT_TRUE(std::isnan(nan->output(1, 2, 0, 7)));
  EXPECT_EQ(nan->log_sum_exp(1, 2, 0), -kInfinity);
  EXPECT_FALSE(std::isnan(nan->output(1, 2, 1, 7)));
  const int runs = runner.runs;
  const absl::Status error =
      attention.Forward(drawn.inputs(), {.fully_masked = FullyMasked::kError})
          .status();
  EXPECT_EQ(error, FullyMaskedRowError(0, 1, 2));
  EXPECT_EQ(runner.runs, runs);
}

TEST(CudnnAttentionTest, PaddingMayHoldAnything) {
  CudnnCase drawn = DrawCase(4);
  drawn.lengths = {3, 2};
  StandInRunner runner;
  const CudnnAttention attention(&runner, {});
  const auto clean = attention.Forward(drawn.inputs(), {});
  ASSERT_TRUE(clean.ok());
  const auto clean_gradients =
      attention.Backward(drawn.inputs(), {}, *clean, drawn.gradient.view());
  ASSERT_TRUE(clean_gradients.ok());
  drawn.key(0, 1, 3, 2) = kNaN;
  drawn.value(1, 0, 2, 0) = kInfinity;
  drawn.value(1, 0, 4, 1) = kNaN;
  const auto outputs = attention.Forward(drawn.inputs(), {});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(outputs->output.elements(), clean->output.elements());
  EXPECT_EQ(outputs->log_sum_exp.elements(), clean->log_sum_exp.elements());
  const auto gradients =
      attention.Backward(drawn.inputs(), {}, *outputs, drawn.gradient.view());
  ASSERT_TRUE(gradients.ok()) << gradients.status();
  EXPECT_EQ(gradients->key.elements(), clean_gradients->key.elements());
  EXPECT_EQ(gradients->value.elements(), clean_gradients->value.elements());
}

TEST(CudnnAttentionTest, RefusesWhatIsNotFinite) {
  StandInRunner runner;
  const CudnnAttention bfloat16(&runner, {});
  const CudnnAttention float16(&runner, {.element = Dtype::kF16});
  CudnnCase drawn = DrawCase(5);
  drawn.value(1, 0, 4, 7) = kNaN;
  EXPECT_EQ(bfloat16.Forward(drawn.inputs(), {}).status().message(),
            "value[1, 0, 4, 7] is nan; allowed with backend cudnn: numbers "
            "finite in bfloat16");
  drawn = DrawCase(5);
  drawn.query(0, 3, 1, 15) = 65520;
  EXPECT_TRUE(bfloat16.Forward(drawn.inputs(), {}).ok());
  EXPECT_EQ(float16.Forward(drawn.inputs(), {}).status().message(),
            "query[0, 3, 1, 15] is 65520; allowed with backend cudnn: numbers "
            "finite in float16");
  drawn = DrawCase(5);
  drawn.bias = Tensor<float>({1, 1, 3, 5});
  (*drawn.bias)(0, 0, 1, 1) = -kInfinity;
  EXPECT_TRUE(float16.Forward(drawn.inputs(), {}).ok());
  (*drawn.bias)(0, 0, 2, 1) = kInfinity;
  EXPECT_EQ(float16.Forward(drawn.inputs(), {}).status().message(),
            "bias[0, 0, 2, 1] is inf; allowed with backend cudnn: numbers "
            "finite in float16, and -inf");
}

TEST(CudnnAttentionTest, RefusesBeforeItRuns) {
  StandInRunner runner;
  const CudnnAttention attention(&runner, {});
  CudnnCase drawn = DrawCase(6);
  drawn.lengths = {3, 3};
  drawn.problem.causal = CausalAlignment::kBottomRight;
  EXPECT_EQ(attention.Forward(drawn.inputs(), {}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(runner.runs, 0);
}

TEST(CudnnAttentionTest, BackwardChecksShapes) {
  StandInRunner runner;
  const CudnnAttention attention(&runner, {});
  const CudnnCase drawn = DrawCase(7);
  const auto outputs = attention.Forward(drawn.inputs(), {});
  ASSERT_TRUE(outputs.ok());
  const Tensor<float> wrong({2, 4, 3, 16});
  EXPECT_EQ(attention.Backward(drawn.inputs(), {}, *outputs, wrong.view())
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
  AttentionOutputs<float> other = *outputs;
  other.log_sum_exp = Tensor<float>({2, 4, 4});
  EXPECT_EQ(attention.Backward(drawn.inputs(), {}, other, drawn.gradient.view())
                .status()
                .message(),
            "outputs.log_sum_exp has shape [2, 4, 4]; allowed: [B, H, Tq] = "
            "[2, 4, 3]");
}

TEST(CudnnAttentionTest, DeterministicIsForBackward) {
  StandInRunner runner;
  const CudnnAttention attention(&runner, {.deterministic = true});
  const CudnnCase drawn = DrawCase(8);
  const auto outputs = attention.Forward(drawn.inputs(), {});
  ASSERT_TRUE(outputs.ok());
  EXPECT_FALSE(runner.last.deterministic);
  ASSERT_TRUE(
      attention.Backward(drawn.inputs(), {}, *outputs, drawn.gradient.view())
          .ok());
  EXPECT_TRUE(runner.last.deterministic);
}

}  // namespace
}  // namespace softlookup::cudnn
