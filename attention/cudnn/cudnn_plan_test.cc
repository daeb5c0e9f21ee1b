// Plans built for an H200 that is not there: what cuDNN accepts, how much
// workspace it asks for, and that a plan can be written and read.
#include "attention/cudnn/cudnn_plan.h"

#include <bit>
#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "attention/cudnn/h200.h"
#include "attention/cudnn/null_driver.h"
#include "attention/cudnn/plan_cases.h"
#include "base/thread_pool.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

// AddressSanitizer asks it. What cuDNN opens and closes while it plans (NVRTC,
// cuBLAS) leaves memory behind, in modules that are gone by the time of the
// report, so that no suppression can name them.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

namespace softlookup::cudnn {
namespace {

const GpuDescription& H200() {
  static const GpuDescription& description = *[] {
    const absl::Status driver = UseNullDriver();
    EXPECT_TRUE(driver.ok()) << driver;
    auto parsed = GpuDescription::FromJson(kH200Json, kH200Capability);
    EXPECT_TRUE(parsed.ok()) << parsed.status();
    return new GpuDescription(*parsed);
  }();
  return description;
}

// cudnn-frontend transposes keys and values in their last two axes where a part
// of the graph takes them so; here with their last stride 1 again.
std::vector<CudnnTensor> Untransposed(std::vector<CudnnTensor> tensors) {
  for (CudnnTensor& tensor : tensors) {
    const bool may_be =
        tensor.id == CudnnTensorId::kKey || tensor.id == CudnnTensorId::kValue;
    if (!may_be || tensor.strides[3] == 1) continue;
    std::swap(tensor.shape[2], tensor.shape[3]);
    std::swap(tensor.strides[2], tensor.strides[3]);
  }
  return tensors;
}

std::string Describe(const std::vector<CudnnTensor>& tensors) {
  std::string text;
  for (const CudnnTensor& tensor : tensors) {
    text += tensor.name + " " + DtypeName(tensor.dtype) + " " +
            ShapeString(tensor.shape) + " by " + ShapeString(tensor.strides) +
            "\n";
  }
  return text;
}

}  // namespace

// Found by GoogleTest through the argument's namespace.
void PrintTo(const CudnnProblem& problem, std::ostream* stream) {
  *stream << CudnnProblemKey(problem);
}

namespace {

int64_t Id(CudnnTensorId id) { return static_cast<int64_t>(id); }

// The attention node as cudnn-frontend should write it: what is masked and how,
// and which of our tensors is at which of its ports.
nlohmann::json ExpectedNode(const CudnnProblem& problem) {
  nlohmann::json node;
  node["tag"] = problem.backward ? "SDPA_BWD" : "SDPA";
  node["attn_scale_value"] = absl::AsciiStrToUpper(absl::StrCat(
      absl::Hex(std::bit_cast<uint32_t>(static_cast<float>(problem.scale)),
                absl::kZeroPad8)));
  node["padding_mask"] = problem.Padded();
  node["alibi_mask"] = false;
  node["dropout_probability"] = nullptr;
  node["left_bound"] = nullptr;
  // j <= i, from the corner of the alignment.
  node["right_bound"] = nullptr;
  if (problem.causal != CausalAlignment::kNone) {
    node["right_bound"] = 0;
    node["diagonal_alignment"] = problem.causal == CausalAlignment::kTopLeft
                                     ? "TOP_LEFT"
                                     : "BOTTOM_RIGHT";
  }
  nlohmann::json& inputs = node["inputs"];
  inputs["Q"] = Id(CudnnTensorId::kQuery);
  inputs["K"] = Id(CudnnTensorId::kKey);
  inputs["V"] = Id(CudnnTensorId::kValue);
  if (problem.bias.has_value()) inputs["Bias"] = Id(CudnnTensorId::kBias);
  if (problem.Padded()) {
    inputs["SEQ_LEN_Q"] = Id(CudnnTensorId::kQueryLengths);
    inputs["SEQ_LEN_KV"] = Id(CudnnTensorId::kKeyLengths);
  }
  nlohmann::json& outputs = node["outputs"];
  if (!problem.backward) {
    node["generate_stats"] = true;
    outputs["O"] = Id(CudnnTensorId::kOutput);
    outputs["Stats"] = Id(CudnnTensorId::kLogSumExp);
    return node;
  }
  node["is_deterministic_algorithm"] = problem.deterministic;
  inputs["O"] = Id(CudnnTensorId::kOutput);
  inputs["Stats"] = Id(CudnnTensorId::kLogSumExp);
  inputs["dO"] = Id(CudnnTensorId::kOutputGradient);
  outputs["dQ"] = Id(CudnnTensorId::kQueryGradient);
  outputs["dK"] = Id(CudnnTensorId::kKeyGradient);
  outputs["dV"] = Id(CudnnTensorId::kValueGradient);
  if (problem.bias.has_value()) {
    outputs["dBias"] = Id(CudnnTensorId::kBiasGradient);
  }
  return node;
}

// The node that a serialized plan has, of what ExpectedNode says.
nlohmann::json NodeOf(const std::string& bytes,
                      const nlohmann::json& expected) {
  const nlohmann::json plan = nlohmann::json::from_ubjson(bytes);
  EXPECT_EQ(plan.at("nodes").size(), 1u);
  const nlohmann::json& whole = plan.at("nodes").at(0);
  nlohmann::json node;
  for (const auto& [name, value] : expected.items()) {
    node[name] = whole.at(name);
  }
  // The scale is a tensor that cudnn-frontend makes of the number.
  node["inputs"].erase("Attn_scale");
  return node;
}

// Kinds of what cudnn-frontend does to its parts of the workspace before a plan
// starts: 0 copies to them and 1 clears them, both by the CUDA runtime, which
// need not be there; 2 does nothing.
void ExpectNoRuntime(const std::string& bytes) {
  const nlohmann::json plan = nlohmann::json::from_ubjson(bytes);
  for (const nlohmann::json& part : plan.at("workspace_modifications")) {
    EXPECT_EQ(part.at(1).at(0), 2) << part.dump();
  }
}

class PlanTest : public testing::TestWithParam<CudnnProblem> {};

TEST_P(PlanTest, IsBuiltForAnH200) {
  const CudnnProblem& problem = GetParam();
  const auto plan = CudnnPlan::Build(problem, H200());
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_FALSE((*plan)->name().empty());
  EXPECT_EQ((*plan)->workspace_bytes(), ExpectedWorkspaceBytes(problem))
      << (*plan)->name();

  const auto tensors = (*plan)->GraphTensors();
  ASSERT_TRUE(tensors.ok()) << tensors.status();
  EXPECT_EQ(Describe(Untransposed(*tensors)), Describe(CudnnTensors(problem)));

  const auto bytes = (*plan)->Serialize();
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  const nlohmann::json expected = ExpectedNode(problem);
  EXPECT_EQ(NodeOf(*bytes, expected).dump(1), expected.dump(1));
  ExpectNoRuntime(*bytes);
  // The compiled kernels are in it.
  EXPECT_GT(bytes->size(), 10000u);
  const absl::Status read = CudnnPlan::CheckSerialized(*bytes, H200());
  EXPECT_TRUE(read.ok()) << read;
}

#ifdef SOFTLOOKUP_ALL_PLANS
INSTANTIATE_TEST_SUITE_P(All, PlanTest, testing::ValuesIn(AllProblems()));
#else
INSTANTIATE_TEST_SUITE_P(Pairwise, PlanTest,
                         testing::ValuesIn(PairwiseProblems()));
#endif

CudnnProblem Small(bool backward = false) {
  return ContiguousProblem({.batch = 2,
                            .query_heads = 4,
                            .key_heads = 4,
                            .queries = 64,
                            .keys = 64,
                            .width = 64,
                            .value_width = 64},
                           Dtype::kBF16, backward);
}

TEST(CudnnPlanTest, RefusesByOurChecksFirst) {
  CudnnProblem problem = Small();
  problem.sizes.width = 4;
  const absl::Status status = CudnnPlan::Build(problem, H200()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message().substr(0, 14), "width D is 4; ");
}

TEST(CudnnPlanTest, BuildsAMatrixProduct) {
  // No two sizes alike, so that none can stand for another.
  const MatrixProduct product = {.rows = 8192, .columns = 4096, .inner = 2048};
  const auto plan = CudnnPlan::BuildProduct(product, H200());
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_FALSE((*plan)->name().empty());
  const auto tensors = (*plan)->GraphTensors();
  ASSERT_TRUE(tensors.ok()) << tensors.status();
  EXPECT_EQ(Describe(*tensors), Describe(ProductTensors(product)));

  const auto bytes = (*plan)->Serialize();
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  nlohmann::json expected;
  expected["tag"] = "MATMUL";
  expected["compute_data_type"] = "FLOAT";
  expected["inputs"] = {{"A", Id(CudnnTensorId::kFactorA)},
                        {"B", Id(CudnnTensorId::kFactorB)}};
  expected["outputs"] = {{"C", Id(CudnnTensorId::kProduct)}};
  EXPECT_EQ(NodeOf(*bytes, expected).dump(1), expected.dump(1));
  ExpectNoRuntime(*bytes);
  EXPECT_GT(bytes->size(), 10000u);
  const absl::Status read = CudnnPlan::CheckSerialized(*bytes, H200());
  EXPECT_TRUE(read.ok()) << read;
}

TEST(CudnnPlanTest, ReadsNoOtherBytes) {
  const auto plan = CudnnPlan::Build(Small(), H200());
  ASSERT_TRUE(plan.ok()) << plan.status();
  const auto bytes = (*plan)->Serialize();
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  for (const std::string& wrong : {std::string(), std::string("{}"),
                                   bytes->substr(0, bytes->size() / 2)}) {
    const absl::Status status = CudnnPlan::CheckSerialized(wrong, H200());
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message().substr(0, 19), "cuDNN reads a plan:");
  }
}

TEST(GpuDescriptionTest, RefusesWhatIsNoDescription) {
  ASSERT_TRUE(UseNullDriver().ok());
  const absl::Status status =
      GpuDescription::FromJson("no JSON", kH200Capability).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
}

TEST(CudnnHandleTest, NeedsADevice) {
  ASSERT_TRUE(UseNullDriver().ok());
  const absl::Status status = CudnnHandle::Create().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            "cuDNN creates a handle: CUDNN_STATUS_NOT_INITIALIZED");
}

TEST(CudnnPlanCacheTest, BuildsAPlanOnce) {
  CudnnPlanCache cache(H200());
  const auto first = cache.Get(Small());
  ASSERT_TRUE(first.ok()) << first.status();
  const auto again = cache.Get(Small());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(first->get(), again->get());
  EXPECT_EQ(cache.builds(), 1);
  const auto other = cache.Get(Small(/*backward=*/true));
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_NE(first->get(), other->get());
  EXPECT_EQ(cache.builds(), 2);
  EXPECT_EQ(cache.size(), 2u);
}

TEST(CudnnPlanCacheTest, ForgetsThePlanUsedLongestAgo) {
  CudnnPlanCache cache(H200(), /*capacity=*/2);
  CudnnProblem second = Small();
  second.causal = CausalAlignment::kTopLeft;
  CudnnProblem third = Small();
  third.key_lengths = true;
  ASSERT_TRUE(cache.Get(Small()).ok());
  ASSERT_TRUE(cache.Get(second).ok());
  ASSERT_TRUE(cache.Get(Small()).ok());
  ASSERT_TRUE(cache.Get(third).ok());  // in place of the second
  EXPECT_EQ(cache.size(), 2u);
  ASSERT_TRUE(cache.Get(Small()).ok());
  EXPECT_EQ(cache.builds(), 3);
  ASSERT_TRUE(cache.Get(second).ok());
  EXPECT_EQ(cache.builds(), 4);
}

TEST(CudnnPlanCacheTest, BuildsSeveralAtATime) {
  std::vector<CudnnProblem> problems;
  for (const bool backward : {false, true}) {
    for (const int64_t width : {64, 128}) {
      for (const bool causal : {false, true}) {
        CudnnProblem problem = ContiguousProblem({.batch = 1,
                                                  .query_heads = 2,
                                                  .key_heads = 1,
                                                  .queries = 128,
                                                  .keys = 128,
                                                  .width = width,
                                                  .value_width = width},
                                                 Dtype::kBF16, backward);
        if (causal) problem.causal = CausalAlignment::kTopLeft;
        problems.push_back(problem);
      }
    }
  }
  // One twice, one that cannot be, one that is there.
  problems.push_back(problems[0]);
  problems.push_back(Small());
  problems.back().scale = -1;
  CudnnPlanCache cache(H200());
  ASSERT_TRUE(cache.Get(problems[1]).ok());
  ThreadPool pool(4);
  cache.BuildAhead(problems, pool);
  EXPECT_EQ(cache.builds(), 8);
  EXPECT_EQ(cache.size(), 8u);
  for (int n = 0; n < 8; ++n) {
    const auto plan = cache.Get(problems[n]);
    ASSERT_TRUE(plan.ok()) << plan.status();
    // The same as built by itself, and of the right problem.
    const auto alone = CudnnPlan::Build(problems[n], H200());
    ASSERT_TRUE(alone.ok()) << alone.status();
    EXPECT_EQ((*plan)->name(), (*alone)->name());
    EXPECT_EQ((*plan)->workspace_bytes(), (*alone)->workspace_bytes());
    const auto tensors = (*plan)->GraphTensors();
    ASSERT_TRUE(tensors.ok()) << tensors.status();
    EXPECT_EQ(Describe(Untransposed(*tensors)),
              Describe(CudnnTensors(problems[n])));
  }
  EXPECT_EQ(cache.builds(), 8);
  EXPECT_EQ(cache.Get(problems.back()).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(CudnnPlanCacheTest, KeepsNoErrors) {
  CudnnPlanCache cache(H200());
  CudnnProblem problem = Small();
  problem.scale = -1;
  EXPECT_EQ(cache.Get(problem).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(cache.size(), 0u);
}

}  // namespace
}  // namespace softlookup::cudnn
