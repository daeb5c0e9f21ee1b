#include "attention/cudnn/cudnn_problem.h"

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "attention/attention.h"
#include "base/tensor/tensor.h"
#include "gtest/gtest.h"

namespace softlookup::cudnn {
namespace {

constexpr AttentionSizes kSizes = {.batch = 2,
                                   .query_heads = 4,
                                   .key_heads = 2,
                                   .queries = 5,
                                   .keys = 7,
                                   .width = 64,
                                   .value_width = 32};

CudnnProblem Problem(bool backward = false) {
  return ContiguousProblem(kSizes, Dtype::kBF16, backward);
}

std::string Error(const CudnnProblem& problem) {
  const absl::Status status = CheckCudnnProblem(problem);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(CheckCudnnProblemTest, AcceptsWhatCudnnDoes) {
  for (const bool backward : {false, true}) {
    for (const Dtype element : {Dtype::kBF16, Dtype::kF16}) {
      for (const int64_t width : {8, 64, 72, 256}) {
        AttentionSizes sizes = kSizes;
        sizes.width = width;
        CudnnProblem problem = ContiguousProblem(sizes, element, backward);
        EXPECT_TRUE(CheckCudnnProblem(problem).ok());
        problem.key_lengths = true;
        problem.causal = CausalAlignment::kTopLeft;
        problem.bias = Shape{1, 4, 5, 7};
        EXPECT_TRUE(CheckCudnnProblem(problem).ok());
        problem = ContiguousProblem(sizes, element, backward);
        problem.causal = CausalAlignment::kBottomRight;
        EXPECT_TRUE(CheckCudnnProblem(problem).ok());
      }
    }
  }
}

TEST(CheckCudnnProblemTest, RefusesElementTypes) {
  CudnnProblem problem = Problem();
  problem.element = Dtype::kF32;
  EXPECT_EQ(Error(problem),
            "element type is F32; allowed with backend cudnn: BF16, F16");
  problem.element = Dtype::kF8E4M3;
  EXPECT_EQ(Error(problem),
            "element type is F8_E4M3; allowed with backend cudnn: BF16, F16");
}

TEST(CheckCudnnProblemTest, RefusesWidths) {
  for (const int64_t width : {1, 4, 12, 257, 264}) {
    CudnnProblem problem = Problem();
    problem.sizes.width = width;
    EXPECT_EQ(Error(problem), "width D is " + std::to_string(width) +
                                  "; allowed with backend cudnn: multiples of "
                                  "8 from 8 to 256");
    problem = Problem();
    problem.sizes.value_width = width;
    EXPECT_EQ(Error(problem), "value width Dv is " + std::to_string(width) +
                                  "; allowed with backend cudnn: multiples of "
                                  "8 from 8 to 256");
  }
}

TEST(CheckCudnnProblemTest, RefusesStrides) {
  CudnnProblem problem = Problem();
  problem.query_strides = {1280, 320, 1, 5};
  EXPECT_EQ(Error(problem),
            "query of shape [2, 4, 5, 64] has strides [1280, 320, 1, 5]; "
            "allowed with backend cudnn: a last stride of 1, the others "
            "positive multiples of 8");
  problem = Problem();
  problem.key_strides[2] = 68;
  EXPECT_EQ(Error(problem).substr(0, 25), "key of shape [2, 2, 7, 64");
  problem = Problem();
  problem.value_strides[0] = 0;
  EXPECT_EQ(Error(problem).substr(0, 27), "value of shape [2, 2, 7, 32");
  problem = Problem();
  problem.value_strides[1] = -224;
  EXPECT_EQ(Error(problem).substr(0, 27), "value of shape [2, 2, 7, 32");
}

TEST(CheckCudnnProblemTest, AcceptsInterleavedHeads) {
  // [B, T, H, D], seen as [B, H, T, D].
  CudnnProblem problem = Problem();
  problem.query_strides = {5 * 4 * 64, 64, 4 * 64, 1};
  EXPECT_TRUE(CheckCudnnProblem(problem).ok());
  // The stride of a dimension of size 1 is never used.
  problem.sizes.batch = 1;
  problem.query_strides[0] = 3;
  EXPECT_TRUE(CheckCudnnProblem(problem).ok());
}

TEST(CheckCudnnProblemTest, RefusesScales) {
  for (const double scale :
       {0.0, -0.125, 1e-60, 1e60, std::numeric_limits<double>::quiet_NaN(),
        std::numeric_limits<double>::infinity()}) {
    CudnnProblem problem = Problem();
    problem.scale = scale;
    EXPECT_EQ(Error(problem).substr(0, 9), "scale is ") << scale;
  }
}

TEST(CheckCudnnProblemTest, RefusesBiases) {
  for (const Shape& shape : std::vector<Shape>{
           {2, 4, 1, 7}, {2, 4, 5, 1}, {3, 4, 5, 7}, {2, 2, 5, 7}, {5, 7}}) {
    CudnnProblem problem = Problem();
    problem.bias = shape;
    EXPECT_EQ(Error(problem),
              "bias has shape " + ShapeString(shape) +
                  "; allowed with backend cudnn: [B or 1, H or 1, Tq, Tk] of "
                  "[B, H, Tq, Tk] = [2, 4, 5, 7]");
  }
  CudnnProblem problem = Problem();
  problem.bias = Shape{2, 4, 5, 7};
  problem.causal = CausalAlignment::kBottomRight;
  EXPECT_EQ(Error(problem),
            "causal is bottom_right and bias is given; allowed with backend "
            "cudnn: a bias with causal none or top_left");
}

TEST(CheckCudnnProblemTest, RefusesWhatBottomRightCannot) {
  CudnnProblem problem = Problem();
  problem.causal = CausalAlignment::kBottomRight;
  problem.key_lengths = true;
  EXPECT_EQ(Error(problem),
            "causal is bottom_right and key_lengths is given, where cuDNN's "
            "diagonal ends at each entry's last real key and ours at Tk; "
            "allowed with backend cudnn: key_lengths with causal none or "
            "top_left");
  AttentionSizes sizes = kSizes;
  sizes.queries = 8;
  problem = ContiguousProblem(sizes, Dtype::kF16, false);
  problem.causal = CausalAlignment::kBottomRight;
  EXPECT_EQ(Error(problem),
            "causal is bottom_right with Tq = 8, Tk = 7; allowed with backend "
            "cudnn: bottom_right with Tq <= Tk");
}

TEST(CheckCudnnProblemTest, RefusesBackwardOfOneQueryAndOneKey) {
  AttentionSizes sizes = kSizes;
  sizes.queries = 1;
  sizes.keys = 1;
  EXPECT_TRUE(
      CheckCudnnProblem(ContiguousProblem(sizes, Dtype::kBF16, false)).ok());
  EXPECT_EQ(Error(ContiguousProblem(sizes, Dtype::kBF16, true)),
            "output_gradient is given with Tq = Tk = 1; allowed with backend "
            "cudnn: backward with Tq > 1 or Tk > 1");
  sizes.keys = 2;
  EXPECT_TRUE(
      CheckCudnnProblem(ContiguousProblem(sizes, Dtype::kBF16, true)).ok());
}

TEST(CudnnProblemTest, BackwardIsAlwaysPadded) {
  EXPECT_FALSE(Problem(false).Padded());
  EXPECT_TRUE(Problem(true).Padded());
  CudnnProblem problem = Problem(false);
  problem.key_lengths = true;
  EXPECT_TRUE(problem.Padded());
}

TEST(CudnnProblemKeyTest, DiffersWithEverythingThatAPlanDependsOn) {
  std::vector<CudnnProblem> problems = {Problem(), Problem(true)};
  const auto add = [&problems](const auto& change) {
    CudnnProblem problem = Problem();
    change(problem);
    problems.push_back(problem);
  };
  add([](CudnnProblem& p) { p.element = Dtype::kF16; });
  add([](CudnnProblem& p) { p.sizes.batch = 3; });
  add([](CudnnProblem& p) { p.sizes.query_heads = 6; });
  add([](CudnnProblem& p) { p.sizes.key_heads = 1; });
  add([](CudnnProblem& p) { p.sizes.queries = 6; });
  add([](CudnnProblem& p) { p.sizes.keys = 8; });
  add([](CudnnProblem& p) { p.sizes.width = 72; });
  add([](CudnnProblem& p) { p.sizes.value_width = 40; });
  add([](CudnnProblem& p) { p.causal = CausalAlignment::kTopLeft; });
  add([](CudnnProblem& p) { p.causal = CausalAlignment::kBottomRight; });
  add([](CudnnProblem& p) { p.key_lengths = true; });
  add([](CudnnProblem& p) { p.bias = Shape{1, 1, 5, 7}; });
  add([](CudnnProblem& p) { p.bias = Shape{2, 1, 5, 7}; });
  add([](CudnnProblem& p) { p.scale = std::nextafter(p.scale, 1); });
  add([](CudnnProblem& p) { p.deterministic = true; });
  add([](CudnnProblem& p) { p.query_strides[1] += 8; });
  add([](CudnnProblem& p) { p.key_strides[1] += 8; });
  add([](CudnnProblem& p) { p.value_strides[1] += 8; });
  std::set<std::string> keys;
  for (const CudnnProblem& problem : problems) {
    keys.insert(CudnnProblemKey(problem));
  }
  EXPECT_EQ(keys.size(), problems.size());
}

class DescribeCudnnProblemTest : public testing::Test {
 protected:
  AttentionInputs<float> Inputs() const {
    return {query_.view(), key_.view(), value_.view(), std::nullopt, {}};
  }
  static std::string Error(const AttentionInputs<float>& inputs,
                           const AttentionOptions& options = {}) {
    const absl::Status status =
        DescribeCudnnProblem(inputs, options, {}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  }

  Tensor<float> query_{Shape{2, 4, 5, 64}};
  Tensor<float> key_{Shape{2, 2, 7, 64}};
  Tensor<float> value_{Shape{2, 2, 7, 32}};
};

TEST_F(DescribeCudnnProblemTest, TakesSizesMasksAndStrides) {
  AttentionInputs<float> inputs = Inputs();
  const Tensor<float> interleaved({2, 5, 4, 64});
  inputs.query = interleaved.view().Transpose(1, 2);
  inputs.mask.causal = CausalAlignment::kTopLeft;
  const std::vector<int64_t> lengths = {7, 3};
  inputs.mask.key_lengths = lengths;
  const Tensor<float> bias({1, 4, 5, 7});
  inputs.bias = bias.view();
  const auto problem = DescribeCudnnProblem(
      inputs, {.scale = 0.25},
      {.element = Dtype::kF16, .backward = true, .deterministic = true});
  ASSERT_TRUE(problem.ok()) << problem.status();
  EXPECT_TRUE(problem->backward);
  EXPECT_EQ(problem->element, Dtype::kF16);
  EXPECT_EQ(problem->sizes.query_heads, 4);
  EXPECT_EQ(problem->sizes.key_heads, 2);
  EXPECT_EQ(problem->sizes.keys, 7);
  EXPECT_EQ(problem->sizes.value_width, 32);
  EXPECT_EQ(problem->causal, CausalAlignment::kTopLeft);
  EXPECT_TRUE(problem->key_lengths);
  EXPECT_EQ(problem->bias, Shape({1, 4, 5, 7}));
  EXPECT_EQ(problem->scale, 0.25);
  EXPECT_TRUE(problem->deterministic);
  EXPECT_EQ(problem->query_strides, Shape({1280, 64, 256, 1}));
  EXPECT_EQ(problem->key_strides, Shape({896, 448, 64, 1}));
}

TEST_F(DescribeCudnnProblemTest, DefaultScaleIsThatOfAttention) {
  const auto problem = DescribeCudnnProblem(Inputs(), {}, {});
  ASSERT_TRUE(problem.ok()) << problem.status();
  EXPECT_EQ(problem->scale, 0.125);
}

TEST_F(DescribeCudnnProblemTest, RefusesBooleanMasks) {
  AttentionInputs<float> inputs = Inputs();
  const Tensor<uint8_t> mask({1, 1, 5, 7});
  inputs.mask.allowed = mask.view();
  EXPECT_EQ(Error(inputs),
            "mask of shape [1, 1, 5, 7] is given; allowed with backend cudnn: "
            "causal, key_lengths, bias");
}

TEST_F(DescribeCudnnProblemTest, RefusesKeyStarts) {
  AttentionInputs<float> inputs = Inputs();
  const std::vector<int64_t> starts = {0, 0};
  inputs.mask.key_starts = starts;
  EXPECT_EQ(Error(inputs),
            "key_starts is given; allowed with backend cudnn: causal, "
            "key_lengths, bias");
}

TEST_F(DescribeCudnnProblemTest, RefusesWeights) {
  EXPECT_EQ(Error(Inputs(), {.weights = true}),
            "weights is true; allowed with backend cudnn: false: cuDNN never "
            "forms them");
}

TEST_F(DescribeCudnnProblemTest, RefusesShapesThatDisagree) {
  AttentionInputs<float> inputs = Inputs();
  const Tensor<float> key({2, 2, 7, 32});
  inputs.key = key.view();
  EXPECT_NE(Error(inputs).find("the same width D"), std::string::npos);
}

}  // namespace
}  // namespace softlookup::cudnn
