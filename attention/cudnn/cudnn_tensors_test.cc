#include <map>
#include <string>
#include <vector>

#include "attention/attention.h"
#include "attention/cudnn/cudnn_problem.h"
#include "attention/reference/attention_reference.h"
#include "base/tensor/tensor.h"
#include "gtest/gtest.h"

namespace softlookup::cudnn {
namespace {

constexpr AttentionSizes kSizes = {.batch = 2,
                                   .query_heads = 4,
                                   .key_heads = 2,
                                   .queries = 3,
                                   .keys = 5,
                                   .width = 16,
                                   .value_width = 8};

std::map<std::string, CudnnTensor> ByName(const CudnnProblem& problem) {
  std::map<std::string, CudnnTensor> tensors;
  for (const CudnnTensor& tensor : CudnnTensors(problem)) {
    tensors[tensor.name] = tensor;
  }
  return tensors;
}

// What the reference takes and gives for these sizes is what cuDNN's tensors
// must hold.
TEST(CudnnTensorsTest, ShapesAreTheReferences) {
  const Tensor<double> query({2, 4, 3, 16});
  const Tensor<double> key({2, 2, 5, 16});
  const Tensor<double> value({2, 2, 5, 8});
  const Tensor<double> bias({1, 4, 3, 5});
  AttentionInputs<double> inputs{
      query.view(), key.view(), value.view(), bias.view(), {}};
  const auto outputs = reference::AttentionForward<double>(inputs, {});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  const auto gradients =
      reference::AttentionBackward<double>(inputs, {}, outputs->output.view());
  ASSERT_TRUE(gradients.ok()) << gradients.status();

  CudnnProblem problem = ContiguousProblem(kSizes, Dtype::kF16, true);
  problem.bias = bias.shape();
  const auto tensors = ByName(problem);
  EXPECT_EQ(tensors.size(), 13u);
  EXPECT_EQ(tensors.at("query").shape, query.shape());
  EXPECT_EQ(tensors.at("key").shape, key.shape());
  EXPECT_EQ(tensors.at("value").shape, value.shape());
  EXPECT_EQ(tensors.at("bias").shape, bias.shape());
  EXPECT_EQ(tensors.at("output").shape, outputs->output.shape());
  EXPECT_EQ(tensors.at("output_gradient").shape, outputs->output.shape());
  Shape log_sum_exp = outputs->log_sum_exp.shape();
  log_sum_exp.push_back(1);
  EXPECT_EQ(tensors.at("log_sum_exp").shape, log_sum_exp);
  EXPECT_EQ(tensors.at("query_gradient").shape, gradients->query.shape());
  EXPECT_EQ(tensors.at("key_gradient").shape, gradients->key.shape());
  EXPECT_EQ(tensors.at("value_gradient").shape, gradients->value.shape());
  EXPECT_EQ(tensors.at("bias_gradient").shape, gradients->bias->shape());
  EXPECT_EQ(tensors.at("query_lengths").shape, Shape({2, 1, 1, 1}));
  EXPECT_EQ(tensors.at("key_lengths").shape, Shape({2, 1, 1, 1}));
  for (const auto& [name, tensor] : tensors) {
    EXPECT_EQ(tensor.strides, ContiguousStrides(tensor.shape)) << name;
    const Dtype expected = name == "log_sum_exp" ? Dtype::kF32
                           : name == "query_lengths" || name == "key_lengths"
                               ? Dtype::kI32
                               : Dtype::kF16;
    EXPECT_EQ(tensor.dtype, expected) << name;
    EXPECT_EQ(tensor.written, name.size() > 9 && name != "output_gradient" &&
                                  name.substr(name.size() - 9) == "_gradient")
        << name;
  }
}

TEST(CudnnTensorsTest, ForwardHasNoMoreThanItNeeds) {
  CudnnProblem problem = ContiguousProblem(kSizes, Dtype::kBF16, false);
  std::vector<std::string> names;
  for (const CudnnTensor& tensor : CudnnTensors(problem)) {
    names.push_back(tensor.name + (tensor.written ? "!" : ""));
  }
  EXPECT_EQ(names, (std::vector<std::string>{"query", "key", "value", "output!",
                                             "log_sum_exp!"}));
  problem.key_lengths = true;
  EXPECT_EQ(CudnnTensors(problem).size(), 7u);
}

TEST(CudnnTensorsTest, StridesAreTheCallers) {
  CudnnProblem problem = ContiguousProblem(kSizes, Dtype::kBF16, true);
  problem.query_strides = {192, 16, 64, 1};
  problem.key_strides = {320, 16, 64, 1};
  problem.value_strides = {800, 400, 80, 1};
  const auto tensors = ByName(problem);
  EXPECT_EQ(tensors.at("query").strides, problem.query_strides);
  EXPECT_EQ(tensors.at("key").strides, problem.key_strides);
  EXPECT_EQ(tensors.at("value").strides, problem.value_strides);
  EXPECT_EQ(tensors.at("query_gradient").strides, Shape({192, 48, 16, 1}));
}

TEST(CudnnTensorsTest, BytesReachTheLastElement) {
  CudnnProblem problem = ContiguousProblem(kSizes, Dtype::kBF16, false);
  // One more row between the heads than the shape has.
  problem.value_strides = {96, 48, 8, 1};
  const auto tensors = ByName(problem);
  EXPECT_EQ(tensors.at("query").Bytes(), 2 * 4 * 3 * 16 * 2);
  EXPECT_EQ(tensors.at("log_sum_exp").Bytes(), 2 * 4 * 3 * 4);
  EXPECT_EQ(tensors.at("value").Bytes(), (96 + 48 + 4 * 8 + 7 + 1) * 2);
}

}  // namespace
}  // namespace softlookup::cudnn
