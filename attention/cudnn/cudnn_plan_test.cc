// Plans built for an H200 that is not there: what cuDNN accepts, how much
// workspace it asks for, and that a plan can be written and read.
#include "attention/cudnn/cudnn_plan.h"

#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "attention/cudnn/testing/h200.h"
#include "attention/cudnn/testing/null_driver.h"
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

// The workspace that cuDNN 9.19 asks for on Hopper, in bytes, as measured:
//
//   forward   256, and none for a single query
//   backward  256 + 4 B H Tq for the row sums of dO * O,
//             + dQ in float32, 4 B H Tq D; for the deterministic algorithm and
//               where a bias has a gradient, dS in half precision instead,
//               2 B H Tq Tk with Tq rounded up to 64 and Tk to 128,
//             + with grouped heads dK and dV of every query head in half
//               precision, 2 B H Tk (D + Dv)
int64_t ExpectedWorkspaceBytes(const CudnnProblem& problem) {
  const AttentionSizes& sizes = problem.sizes;
  if (!problem.backward) return sizes.queries == 1 ? 0 : 256;
  const auto round_up = [](int64_t size, int64_t multiple) {
    return (size + multiple - 1) / multiple * multiple;
  };
  const int64_t heads = sizes.batch * sizes.query_heads;
  const int64_t sums = 4 * heads * sizes.queries;
  const int64_t product =
      problem.deterministic || problem.bias.has_value()
          ? 2 * heads * round_up(sizes.queries, 64) * round_up(sizes.keys, 128)
          : 4 * heads * sizes.queries * sizes.width;
  const int64_t grouped =
      sizes.query_heads == sizes.key_heads
          ? 0
          : 2 * heads * sizes.keys * (sizes.width + sizes.value_width);
  return 256 + sums + product + grouped;
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

// The graph's tensors as a serialized plan has them, by increasing id.
// cudnn-frontend transposes keys and values in their last two axes where a part
// of the graph takes them so; here with their last stride 1 again.
std::vector<CudnnTensor> TensorsOf(const std::string& bytes) {
  const nlohmann::json plan = nlohmann::json::from_ubjson(bytes);
  const std::map<std::string, Dtype> dtypes = {{"BFLOAT16", Dtype::kBF16},
                                               {"HALF", Dtype::kF16},
                                               {"FLOAT", Dtype::kF32},
                                               {"INT32", Dtype::kI32}};
  std::vector<CudnnTensor> tensors;
  for (int64_t id = Id(CudnnTensorId::kQuery);
       id <= Id(CudnnTensorId::kBiasGradient); ++id) {
    const auto found = plan.at("tensors").find(absl::StrCat(id));
    // A number that is free goes to the scale, which has no memory.
    if (found == plan.at("tensors").end() || found->at("is_pass_by_value")) {
      continue;
    }
    CudnnTensor tensor;
    tensor.id = static_cast<CudnnTensorId>(id);
    tensor.name = found->at("name");
    tensor.dtype = dtypes.at(found->at("data_type"));
    tensor.shape = found->at("dim").get<Shape>();
    tensor.strides = found->at("stride").get<Shape>();
    const bool may_be_transposed =
        tensor.id == CudnnTensorId::kKey || tensor.id == CudnnTensorId::kValue;
    if (may_be_transposed && tensor.strides[3] != 1) {
      std::swap(tensor.shape[2], tensor.shape[3]);
      std::swap(tensor.strides[2], tensor.strides[3]);
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
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

// Choices that a plan depends on: {forward, backward, deterministic backward};
// {bfloat16, float16}; masks {none, top-left, bottom-right, key lengths, key
// lengths and top-left, bias, bias and top-left, bias and key lengths}; D; Tk;
// Tq in {Tk, half of it, 1}; heads {4 over 4, 4 over 2, 4 over 1}; rows by head
// or interleaved as [B, T, H, D].
enum Axis { kPass, kType, kMask, kWidth, kLength, kQueries, kHeads, kLayout };
constexpr int kAxes = 8;
constexpr std::array<int, kAxes> kChoices = {3, 2, 8, 5, 6, 3, 3, 2};
constexpr std::array<int64_t, 5> kWidths = {8, 64, 72, 128, 256};
constexpr std::array<int64_t, 6> kLengths = {17, 64, 65, 500, 512, 8192};

using Choice = std::array<int, kAxes>;
// Strides of [B, heads, positions, width] that lies as [B, positions, heads,
// width].
Shape Interleaved(int64_t heads, int64_t positions, int64_t width) {
  return {positions * heads * width, width, heads * width, 1};
}

CudnnProblem ProblemOf(const Choice& choice) {
  AttentionSizes sizes;
  sizes.batch = 2;
  sizes.query_heads = 4;
  sizes.key_heads = 4 >> choice[kHeads];
  sizes.keys = kLengths[choice[kLength]];
  sizes.queries = choice[kQueries] == 0   ? sizes.keys
                  : choice[kQueries] == 1 ? sizes.keys / 2
                                          : 1;
  sizes.width = kWidths[choice[kWidth]];
  sizes.value_width = sizes.width;
  CudnnProblem problem =
      ContiguousProblem(sizes, choice[kType] == 0 ? Dtype::kBF16 : Dtype::kF16,
                        choice[kPass] != 0);
  problem.deterministic = choice[kPass] == 2;
  const int mask = choice[kMask];
  if (mask == 1 || mask == 4 || mask == 6) {
    problem.causal = CausalAlignment::kTopLeft;
  }
  if (mask == 2) problem.causal = CausalAlignment::kBottomRight;
  problem.key_lengths = mask == 3 || mask == 4 || mask == 7;
  if (mask >= 5) {
    problem.bias = Shape{choice[kLayout] == 0 ? 1 : sizes.batch,
                         sizes.query_heads, sizes.queries, sizes.keys};
  }
  if (choice[kLayout] == 1) {
    problem.query_strides =
        Interleaved(sizes.query_heads, sizes.queries, sizes.width);
    problem.key_strides = Interleaved(sizes.key_heads, sizes.keys, sizes.width);
    problem.value_strides = problem.key_strides;
  }
  return problem;
}

// Every choice that our own checks accept.
std::vector<Choice> AcceptedChoices() {
  std::vector<Choice> choices;
  Choice choice = {};
  for (int axis = 0; axis < kAxes;) {
    if (CheckCudnnProblem(ProblemOf(choice)).ok()) {
      choices.push_back(choice);
    }
    for (axis = 0; axis < kAxes; ++axis) {
      if (++choice[axis] < kChoices[axis]) break;
      choice[axis] = 0;
    }
  }
  return choices;
}

// Calls `function` with a number for every "axis a has choice[a] and axis b has
// choice[b]".
template <typename Function>
void ForEachPair(const Choice& choice, const Function& function) {
  for (int a = 0; a < kAxes; ++a) {
    for (int b = a + 1; b < kAxes; ++b) {
      function(((a * 16 + choice[a]) * kAxes + b) * 16 + choice[b]);
    }
  }
}

// Problems any two choices of which that CheckCudnnProblem accepts together
// meet in at least one. Greedy: the next problem is the first that has the most
// pairs that no problem before it has.
std::vector<CudnnProblem> PairwiseProblems() {
  const std::vector<Choice> choices = AcceptedChoices();
  std::vector<char> open(kAxes * 16 * kAxes * 16, 0);
  int left = 0;
  for (const Choice& choice : choices) {
    ForEachPair(choice, [&](int pair) {
      left += open[pair] == 0;
      open[pair] = 1;
    });
  }
  std::vector<CudnnProblem> problems;
  while (left > 0) {
    const Choice* best = nullptr;
    int most = 0;
    for (const Choice& choice : choices) {
      int count = 0;
      ForEachPair(choice, [&](int pair) { count += open[pair]; });
      if (count > most) {
        most = count;
        best = &choice;
      }
    }
    ForEachPair(*best, [&](int pair) { open[pair] = 0; });
    left -= most;
    problems.push_back(ProblemOf(*best));
  }
  return problems;
}

// Every choice of pass, type, mask, width and length, the other choices taking
// turns.
std::vector<CudnnProblem> AllProblems() {
  std::vector<CudnnProblem> problems;
  std::set<std::array<int, kLength + 1>> seen;
  for (Choice choice : AcceptedChoices()) {
    const int turn = static_cast<int>(seen.size());
    if (!seen.insert({choice[0], choice[1], choice[2], choice[3], choice[4]})
             .second) {
      continue;
    }
    const CudnnProblem problem = ProblemOf(choice);
    choice[kQueries] = turn % 3;
    choice[kHeads] = turn / 3 % 3;
    choice[kLayout] = turn % 2;
    const CudnnProblem turned = ProblemOf(choice);
    problems.push_back(CheckCudnnProblem(turned).ok() ? turned : problem);
  }
  return problems;
}

class PlanTest : public testing::TestWithParam<CudnnProblem> {};

TEST_P(PlanTest, IsBuiltForAnH200) {
  const CudnnProblem& problem = GetParam();
  const auto plan = CudnnPlan::Build(problem, H200());
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_FALSE((*plan)->name().empty());
  EXPECT_EQ((*plan)->workspace_bytes(), ExpectedWorkspaceBytes(problem))
      << (*plan)->name();

  const auto bytes = (*plan)->Serialize();
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(Describe(TensorsOf(*bytes)), Describe(CudnnTensors(problem)));
  const nlohmann::json expected = ExpectedNode(problem);
  EXPECT_EQ(NodeOf(*bytes, expected).dump(1), expected.dump(1));
  ExpectNoRuntime(*bytes);
  // The compiled kernels are in it.
  EXPECT_GT(bytes->size(), 10000u);
  const absl::Status read = CudnnPlan::CheckSerialized(*bytes, H200());
  EXPECT_TRUE(read.ok()) << read;
}

#ifdef SOFTLOOKUP_ALL_PLANS
constexpr bool kAll = true;
#else
constexpr bool kAll = false;
#endif
INSTANTIATE_TEST_SUITE_P(Problems, PlanTest,
                         testing::ValuesIn(kAll ? AllProblems()
                                                : PairwiseProblems()));

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
    const auto bytes = (*plan)->Serialize();
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    EXPECT_EQ(Describe(TensorsOf(*bytes)), Describe(CudnnTensors(problems[n])));
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
