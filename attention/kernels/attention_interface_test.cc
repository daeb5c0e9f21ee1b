// What the kernels are given and where they write: strides, limits, rules for
// rows without keys, numbers at the edge of float32, and every refusal.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "attention/attention.h"
#include "attention/kernels/attention_kernels.h"
#include "attention/kernels/kernel_test_util.h"
#include "attention/mask.h"
#include "base/random/random.h"
#include "base/tensor/shape.h"
#include "base/tensor/tensor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

using kernels::BitDifference;
using ::testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kMax = std::numeric_limits<float>::max();

// B 1, H 1, Hkv 1; queries, keys and values given; output gradient of ones.
struct OneHead {
  Tensor<float> query, key, value, output_gradient;
  std::optional<Tensor<float>> bias;

  AttentionInputs<float> inputs() const {
    AttentionInputs<float> inputs;
    inputs.query = query.view();
    inputs.key = key.view();
    inputs.value = value.view();
    if (bias.has_value()) inputs.bias = bias->view();
    return inputs;
  }
};

// Width 1: one number per query, key and value.
OneHead Scalars(std::vector<float> query, std::vector<float> key,
                std::vector<float> value) {
  const auto column = [](std::vector<float> x) {
    const auto n = static_cast<int64_t>(x.size());
    return Tensor<float>({1, 1, n, 1}, std::move(x));
  };
  OneHead head;
  head.output_gradient = column(std::vector<float>(query.size(), 1.0f));
  head.query = column(std::move(query));
  head.key = column(std::move(key));
  head.value = column(std::move(value));
  return head;
}

struct Results {
  AttentionOutputs<float> outputs;
  AttentionGradients<float> gradients;
};

Results Compute(const OneHead& head,
                const kernels::KernelOptions& execution = {}) {
  Results results;
  results.outputs =
      kernels::AttentionForward(head.inputs(), {}, execution).value();
  results.gradients =
      kernels::AttentionBackward(head.inputs(), {}, results.outputs,
                                 head.output_gradient.view(), execution)
          .value();
  return results;
}

// --- numbers at the edge ---

// Every bit pattern that is a NaN, not only the one that std::nan gives.
TEST(AttentionEdge, ANanIsANanWhateverItsPayload) {
  for (const uint32_t bits :
       {0x7fc00000u, 0x7fc00001u, 0x7fc000ffu, 0x7fc00155u, 0x7fc001ffu,
        0xffffffffu, 0xffc00080u, 0x7f800001u}) {
    const float nan = std::bit_cast<float>(bits);
    for (const auto& [name, execution] : kernels::SomeRuns(0)) {
      SCOPED_TRACE(absl::StrCat(name, ", ", absl::Hex(bits)));
      const Results in_key =
          Compute(Scalars({1}, {nan, -0.25f}, {3, 5}), execution);
      EXPECT_TRUE(std::isnan(in_key.outputs.output[0]));
      EXPECT_TRUE(std::isnan(in_key.outputs.log_sum_exp[0]));
      EXPECT_TRUE(std::isnan(in_key.gradients.value[1]));
      const Results in_query =
          Compute(Scalars({nan}, {1, 2}, {3, 5}), execution);
      EXPECT_TRUE(std::isnan(in_query.outputs.output[0]));
      EXPECT_TRUE(std::isnan(in_query.gradients.value[0]));
      EXPECT_TRUE(std::isnan(in_query.gradients.key[0]));
    }
  }
}

// torch.finfo(float32).min is a common way to write a mask.
TEST(AttentionEdge, ABiasOfTheLowestFloat) {
  OneHead head = Scalars({1}, {0, 0}, {3, 5});
  head.bias = Tensor<float>({1, 1, 1, 2}, {-kMax, -kMax});
  Results results = Compute(head);
  // Both keys alike: the mean.
  EXPECT_EQ(results.outputs.output[0], 4);
  EXPECT_EQ(results.outputs.log_sum_exp[0], -kMax);
  EXPECT_EQ(results.gradients.value[0], 0.5f);
  // One of them: the other has all.
  head.bias = Tensor<float>({1, 1, 1, 2}, {-kMax, 0});
  results = Compute(head);
  EXPECT_EQ(results.outputs.output[0], 5);
  EXPECT_EQ(results.gradients.value[0], 0);
  EXPECT_EQ(results.gradients.value[1], 1);
  head.bias = Tensor<float>({1, 1, 1, 2}, {kMax, 0});
  EXPECT_EQ(Compute(head).outputs.output[0], 3);
}

TEST(AttentionEdge, ABiasThatIsNotFinite) {
  OneHead head = Scalars({1}, {0, 0}, {3, 5});
  head.bias = Tensor<float>({1, 1, 1, 2}, {std::nanf(""), 0});
  Results results = Compute(head);
  EXPECT_TRUE(std::isnan(results.outputs.output[0]));
  EXPECT_TRUE(std::isnan(results.outputs.log_sum_exp[0]));
  head.bias = Tensor<float>({1, 1, 1, 2}, {kInf, 0});
  results = Compute(head);
  EXPECT_TRUE(std::isnan(results.outputs.output[0]));
  EXPECT_EQ(results.outputs.log_sum_exp[0], kInf);
  EXPECT_TRUE(std::isnan(results.gradients.value[1]));
}

// Where the log-sum-exp is too coarse to say what each weight is: -1e9 + log 2
// is -1e9 in float32.
TEST(AttentionEdge, WeightsOfLargeScores) {
  for (const float score :
       {-1e6f, -144773456.0f, -668589440.0f, -1e9f, 1e9f, 3e37f}) {
    SCOPED_TRACE(score);
    OneHead head = Scalars({1}, {0, 0}, {3, 5});
    head.bias = Tensor<float>({1, 1, 1, 2}, {score, score});
    const Results results = Compute(head);
    EXPECT_EQ(results.outputs.output[0], 4);
    EXPECT_FLOAT_EQ(results.gradients.value[0], 0.5f);
    EXPECT_FLOAT_EQ(results.gradients.value[1], 0.5f);
    // The same from queries and keys, without a bias.
    if (std::abs(score) > 1e10f) continue;
    const Results product = Compute(Scalars({score}, {1, 1, 0}, {3, 5, 7}));
    const bool small = score < 0;  // of the first two keys
    EXPECT_EQ(product.outputs.output[0], small ? 7 : 4);
    EXPECT_FLOAT_EQ(product.gradients.value[1], small ? 0 : 0.5f);
    EXPECT_FLOAT_EQ(product.gradients.value[2], small ? 1 : 0);
  }
}

// --- limits and rules ---

TEST(AttentionLimitsTest, WidthsUpTo256) {
  RandomStream stream(1, "attention_interface_test");
  const Shape shape = {1, 1, 3, 256};
  OneHead head = {kernels::GaussianTensor(stream, shape),
                  kernels::GaussianTensor(stream, shape),
                  kernels::GaussianTensor(stream, shape),
                  kernels::GaussianTensor(stream, shape),
                  {}};
  for (const auto& [name, execution] : kernels::SomeRuns(1))
    Compute(head, execution);
  for (const bool value_too : {false, true}) {
    const Shape wide = {1, 1, 3, 257};
    OneHead refused = head;
    (value_too ? refused.value : refused.query) = Tensor<float>(wide);
    if (!value_too) refused.key = Tensor<float>(wide);
    EXPECT_EQ(
        kernels::AttentionForward(refused.inputs(), {}, {}).status().message(),
        absl::StrCat(value_too ? "value" : "query",
                     " has width 257; allowed: up to 256 in the blocked "
                     "kernels (any in the reference)"));
  }
}

TEST(AttentionLimitsTest, RowsWithoutKeys) {
  OneHead head = Scalars({1, 2}, {1, 2}, {3, 5});
  AttentionInputs<float> inputs = head.inputs();
  const Tensor<uint8_t> allowed({1, 1, 2, 2}, {0, 0, 1, 1});
  inputs.mask.allowed = allowed.view();
  const auto zero = kernels::AttentionForward(inputs, {}, {});
  ASSERT_TRUE(zero.ok());
  EXPECT_EQ(zero->output[0], 0);
  EXPECT_EQ(zero->log_sum_exp[0], -kInf);
  EXPECT_GT(zero->output[1], 3);
  const auto nan = kernels::AttentionForward(
      inputs, {.fully_masked = FullyMasked::kNaN}, {});
  ASSERT_TRUE(nan.ok());
  EXPECT_TRUE(std::isnan(nan->output[0]));
  EXPECT_EQ(nan->output[1], zero->output[1]);
  EXPECT_EQ(nan->log_sum_exp[0], -kInf);
  const AttentionOptions error = {.fully_masked = FullyMasked::kError};
  EXPECT_THAT(
      std::string(
          kernels::AttentionForward(inputs, error, {}).status().message()),
      HasSubstr("query row [b = 0, h = 0, i = 0] has every key masked"));
  EXPECT_THAT(
      std::string(kernels::AttentionBackward(inputs, error, *zero,
                                             head.output_gradient.view(), {})
                      .status()
                      .message()),
      HasSubstr("has every key masked"));
}

TEST(AttentionLimitsTest, OptionsThatAreRefused) {
  const OneHead head = Scalars({1}, {1}, {1});
  const auto error = [&](const AttentionOptions& options) {
    return std::string(kernels::AttentionForward(head.inputs(), options, {})
                           .status()
                           .message());
  };
  EXPECT_THAT(error({.weights = true}),
              HasSubstr("weights are asked for; allowed: none"));
  EXPECT_THAT(error({.scale = 3e38}), HasSubstr("scale is 3e+38; allowed: "));
  EXPECT_THAT(error({.scale = -3e38}), HasSubstr("scale is -3e+38"));
  EXPECT_EQ(error({.scale = 2e38}), "");
}

TEST(AttentionLimitsTest, ScratchBytes) {
  AttentionSizes sizes;
  sizes.batch = 1;
  sizes.query_heads = sizes.key_heads = 1;
  sizes.queries = 100;
  sizes.keys = 1024;
  sizes.width = 8;
  sizes.value_width = 8;
  const auto bytes = [&](bool backward, int threads) {
    return kernels::AttentionScratchBytes(sizes, backward, threads);
  };
  EXPECT_EQ(bytes(false, 5), 5 * bytes(false, 1));
  // Eight ranges of 128 keys: seven more dQ, and two numbers per row.
  const int64_t shared = 7 * 100 * 8 * 4 + 2 * 100 * 4;
  EXPECT_EQ(bytes(true, 3) - shared, 3 * (bytes(true, 1) - shared));
  EXPECT_GT(bytes(true, 1), bytes(false, 1) + shared);
}

// --- strides ---

// Queries, keys and values inside one [B, T, 3, H, D] tensor, and gradients in
// another of its kind: the same bits as apart.
TEST(AttentionStrides, InterleavedTensors) {
  RandomStream stream(2, "attention_interface_test");
  constexpr int64_t kBatch = 2, kPositions = 70, kHeads = 3, kWidth = 20;
  const Shape shape = {kBatch, kHeads, kPositions, kWidth};
  const Tensor<float> joint =
      kernels::GaussianTensor(stream, {kBatch, kPositions, 3, kHeads, kWidth});
  const auto part = [](auto view, int64_t n) {
    // [B, T, H, D] of the n-th part, then [B, H, T, D].
    StridedLayout layout = view.layout();
    layout.shape.erase(layout.shape.begin() + 2);
    layout.strides.erase(layout.strides.begin() + 2);
    return decltype(view)(view.data() + n * kHeads * kWidth, layout)
        .Transpose(1, 2);
  };
  AttentionInputs<float> joined;
  joined.query = part(joint.view(), 0);
  joined.key = part(joint.view(), 1);
  joined.value = part(joint.view(), 2);
  joined.mask.causal = CausalAlignment::kTopLeft;
  const Tensor<float> query = Copy(joined.query);
  const Tensor<float> key = Copy(joined.key);
  const Tensor<float> value = Copy(joined.value);
  AttentionInputs<float> apart = joined;
  apart.query = query.view();
  apart.key = key.view();
  apart.value = value.view();
  // A last stride of 2, which is copied first.
  Tensor<float> gradient_memory =
      kernels::GaussianTensor(stream, {kBatch, kHeads, kPositions, 2 * kWidth});
  StridedLayout sparse = gradient_memory.view().layout();
  sparse.shape[3] = kWidth;
  sparse.strides[3] = 2;
  const StridedView<const float> gradient(&gradient_memory[0], sparse);
  const Tensor<float> dense_gradient = Copy(gradient);

  for (const auto& [name, execution] : kernels::EveryRun()) {
    SCOPED_TRACE(name);
    const auto expected =
        kernels::AttentionForward(apart, {}, execution).value();
    const auto expected_gradients =
        kernels::AttentionBackward(apart, {}, expected, dense_gradient.view(),
                                   execution)
            .value();
    // Output as [B, T, H, D].
    Tensor<float> output_memory({kBatch, kPositions, kHeads, kWidth});
    const StridedView<float> output = output_memory.view().Transpose(1, 2);
    Tensor<float> log_sum_exp({kBatch, kHeads, kPositions});
    ASSERT_TRUE(kernels::AttentionForwardInto(joined, {}, execution,
                                              {output, log_sum_exp.view()})
                    .ok());
    EXPECT_EQ(BitDifference(Copy(output), expected.output), "");
    EXPECT_EQ(BitDifference(log_sum_exp, expected.log_sum_exp), "");
    Tensor<float> d_joint(joint.shape());
    const kernels::BackwardViews targets = {part(d_joint.view(), 0),
                                            part(d_joint.view(), 1),
                                            part(d_joint.view(), 2),
                                            {}};
    const absl::Status status = kernels::AttentionBackwardInto(
        joined, {}, output, log_sum_exp.view(), gradient, execution, targets);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(BitDifference(Copy(targets.query), expected_gradients.query), "");
    EXPECT_EQ(BitDifference(Copy(targets.key), expected_gradients.key), "");
    EXPECT_EQ(BitDifference(Copy(targets.value), expected_gradients.value), "");
  }
}

// --- refusals ---

class AttentionPlacesTest : public ::testing::Test {
 protected:
  static constexpr int64_t kRows = 2;
  const Shape shape_ = {1, 1, kRows, 4};
  std::vector<float> memory_ = std::vector<float>(1000);
  StridedView<float> At(int64_t offset, Shape shape) {
    return {memory_.data() + offset, std::move(shape)};
  }
  AttentionInputs<float> Inputs() {
    AttentionInputs<float> inputs;
    inputs.query = At(0, shape_);
    inputs.key = At(100, shape_);
    inputs.value = At(200, shape_);
    inputs.bias = At(300, {1, 1, kRows, kRows});
    return inputs;
  }
  std::string Forward(const StridedView<float>& output,
                      const StridedView<float>& log_sum_exp) {
    return std::string(
        kernels::AttentionForwardInto(Inputs(), {}, {}, {output, log_sum_exp})
            .message());
  }
  std::string Backward(const kernels::BackwardViews& targets) {
    return std::string(kernels::AttentionBackwardInto(
                           Inputs(), {}, At(400, shape_),
                           At(450, {1, 1, kRows}), At(500, shape_), {}, targets)
                           .message());
  }
  kernels::BackwardViews Targets() {
    return {At(600, shape_), At(650, shape_), At(700, shape_),
            At(750, {1, 1, kRows, kRows})};
  }
};

TEST_F(AttentionPlacesTest, Forward) {
  const Shape rows = {1, 1, kRows};
  EXPECT_EQ(Forward(At(400, shape_), At(450, rows)), "");
  EXPECT_EQ(Forward(At(400, {1, 1, kRows, 3}), At(450, rows)),
            "output has shape [1, 1, 2, 3]; allowed: [1, 1, 2, 4]");
  EXPECT_EQ(Forward(At(400, shape_), At(450, {1, 1, 3})),
            "log_sum_exp has shape [1, 1, 3]; allowed: [1, 1, 2]");
  for (const auto& [place, name] :
       {std::pair(0, "query"), std::pair(100, "key"), std::pair(200, "value"),
        std::pair(300, "bias")}) {
    EXPECT_EQ(Forward(At(place, shape_), At(450, rows)),
              absl::StrCat("output overlaps ", name,
                           " in memory; allowed: a target apart from every "
                           "input"));
    EXPECT_THAT(Forward(At(400, shape_), At(place, rows)),
                HasSubstr(absl::StrCat("log_sum_exp overlaps ", name)));
  }
  EXPECT_THAT(Forward(At(400, shape_), At(401, rows)),
              HasSubstr("output and log_sum_exp overlap"));
}

TEST_F(AttentionPlacesTest, Backward) {
  EXPECT_EQ(Backward(Targets()), "");
  kernels::BackwardViews targets = Targets();
  targets.bias.reset();
  EXPECT_EQ(Backward(targets),
            "a bias gradient goes with a bias; allowed: both or neither");
  const std::vector<std::pair<int64_t, std::string>> inputs = {
      {0, "query"},
      {100, "key"},
      {200, "value"},
      {300, "bias"},
      {400, "output"},
      {450, "log_sum_exp"},
      {500, "output_gradient"}};
  for (const auto& [place, name] : inputs) {
    targets = Targets();
    targets.key = At(place, shape_);
    EXPECT_THAT(Backward(targets),
                HasSubstr(absl::StrCat("key gradient overlaps ", name)));
    targets = Targets();
    targets.bias = At(place, {1, 1, kRows, kRows});
    EXPECT_THAT(Backward(targets),
                HasSubstr(absl::StrCat("bias gradient overlaps ", name)));
  }
  targets = Targets();
  targets.value = At(651, shape_);
  EXPECT_THAT(Backward(targets),
              HasSubstr("key gradient and value gradient overlap"));
  targets = Targets();
  targets.query = At(750, shape_);
  EXPECT_THAT(Backward(targets),
              HasSubstr("query gradient and bias gradient overlap"));
  targets = Targets();
  targets.query = At(600, {1, 1, kRows, 5});
  EXPECT_THAT(Backward(targets),
              HasSubstr("query gradient has shape [1, 1, 2, 5]"));
}

}  // namespace
}  // namespace softlookup
