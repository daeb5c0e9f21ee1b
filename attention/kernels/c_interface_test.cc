#include "attention/kernels/c_interface.h"

#include <string>
#include <utility>
#include <vector>

#include "attention/attention.h"
#include "attention/kernels/attention_kernels.h"
#include "attention/kernels/kernel_test_util.h"
#include "attention/mask.h"
#include "base/random/random.h"
#include "base/tensor/shape.h"
#include "base/tensor/tensor.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

// Distinct sizes, so that no two arguments can be exchanged.
SoftlookupProblem Problem() {
  SoftlookupProblem problem = {};
  problem.batch = 2;
  problem.query_heads = 6;
  problem.key_heads = 3;
  problem.queries = 5;
  problem.keys = 7;
  problem.width = 4;
  problem.value_width = 9;
  problem.threads = 2;
  problem.isa = "auto";
  return problem;
}

TEST(CInterface, IsTheKernels) {
  RandomStream stream(1, "c_interface_test");
  const Tensor<float> query = kernels::GaussianTensor(stream, {2, 6, 5, 4});
  const Tensor<float> key = kernels::GaussianTensor(stream, {2, 3, 7, 4});
  const Tensor<float> value = kernels::GaussianTensor(stream, {2, 3, 7, 9});
  const Tensor<float> output_gradient =
      kernels::GaussianTensor(stream, {2, 6, 5, 9});
  for (const auto& [number, causal] :
       {std::pair(0, CausalAlignment::kNone),
        std::pair(1, CausalAlignment::kTopLeft),
        std::pair(2, CausalAlignment::kBottomRight)}) {
    AttentionInputs<float> inputs;
    inputs.query = query.view();
    inputs.key = key.view();
    inputs.value = value.view();
    inputs.mask.causal = causal;
    const auto expected = kernels::AttentionForward(inputs, {}, {}).value();
    const auto gradients = kernels::AttentionBackward(
                               inputs, {}, expected, output_gradient.view(), {})
                               .value();
    SoftlookupProblem problem = Problem();
    problem.causal = number;
    Tensor<float> output({2, 6, 5, 9});
    Tensor<float> log_sum_exp({2, 6, 5});
    ASSERT_EQ(SoftlookupForward(&problem, &query[0], &key[0], &value[0],
                                &output[0], &log_sum_exp[0]),
              0)
        << SoftlookupLastError();
    EXPECT_EQ(kernels::BitDifference(output, expected.output), "");
    EXPECT_EQ(kernels::BitDifference(log_sum_exp, expected.log_sum_exp), "");
    Tensor<float> d_query(query.shape());
    Tensor<float> d_key(key.shape());
    Tensor<float> d_value(value.shape());
    ASSERT_EQ(
        SoftlookupBackward(&problem, &query[0], &key[0], &value[0], &output[0],
                           &log_sum_exp[0], &output_gradient[0], &d_query[0],
                           &d_key[0], &d_value[0]),
        0)
        << SoftlookupLastError();
    EXPECT_EQ(kernels::BitDifference(d_query, gradients.query), "");
    EXPECT_EQ(kernels::BitDifference(d_key, gradients.key), "");
    EXPECT_EQ(kernels::BitDifference(d_value, gradients.value), "");
  }
}

TEST(CInterface, SaysWhyAProblemIsRefused) {
  std::vector<float> memory(10000);
  const auto error = [&](const SoftlookupProblem& problem) {
    return SoftlookupForward(&problem, &memory[0], &memory[1000], &memory[2000],
                             &memory[3000], &memory[4000]) == 0
               ? ""
               : std::string(SoftlookupLastError());
  };
  EXPECT_EQ(error(Problem()), "");
  SoftlookupProblem problem = Problem();
  problem.causal = 3;
  EXPECT_EQ(error(problem), "causal is 3; allowed: 0, 1, 2");
  problem = Problem();
  problem.threads = 0;
  EXPECT_EQ(error(problem), "threads is 0; allowed: 1 to 1024");
  problem = Problem();
  problem.isa = "sse";
  EXPECT_EQ(error(problem),
            "isa is \"sse\"; allowed: auto, portable, avx2, avx512");
  problem.isa = nullptr;
  EXPECT_EQ(error(problem),
            "isa is \"\"; allowed: auto, portable, avx2, avx512");
  problem = Problem();
  problem.query_heads = 4;
  EXPECT_NE(error(problem), "");
}

}  // namespace
}  // namespace softlookup
