// Checks attention by cuDNN on the GPU of this machine, and measures it.
//
//   gpu_check --output=gpu_check.json        at most four minutes
//
// Needs the NVIDIA driver and cuDNN 9 (LD_LIBRARY_PATH), and nothing else:
// neither Bazel nor a network. tools/gpu_check finds cuDNN and starts it.
//
//   parity         forward and every gradient against the float64 reference and
//                  the float32 kernels, over drawn shapes and masks, each
//                  element within its bound (parity.h) and no tensor nearer
//                  than rounding allows
//   known faults   log-sum-exps near -100, T = 64, one query: cuDNN 9.19 gives
//                  NaN there without the workaround of cudnn_problem.h
//   repeats        the deterministic backward pass, three times, to the bit
//   plans          one built for a description of the GPU, serialized, loaded
//                  and run
//   speed          TFLOP/s, and microseconds of the host per call
//
// Exit codes: 0 all is well; 1 a check failed; 2 bad usage; 3 no GPU.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "attention/attention.h"
#include "attention/cudnn/cudnn_attention.h"
#include "attention/cudnn/cudnn_library.h"
#include "attention/cudnn/cudnn_plan.h"
#include "attention/cudnn/cudnn_problem.h"
#include "attention/cudnn/cudnn_tensors.h"
#include "attention/cudnn/cudnn_version.h"
#include "attention/cudnn/gpu.h"
#include "attention/cudnn/gpu_runner.h"
#include "attention/cudnn/half_tensor.h"
#include "attention/cudnn/parity.h"
#include "attention/kernels/attention_kernels.h"
#include "attention/kernels/kernel_options.h"
#include "base/file.h"
#include "base/json.h"
#include "base/program.h"
#include "base/random.h"
#include "base/status.h"
#include "base/tensor.h"
#include "base/thread_pool.h"
#include "base/timing.h"

ABSL_FLAG(std::string, output, "gpu_check.json", "Where results go, JSON.");
ABSL_FLAG(int, cases, 24, "Drawn problems for each element type.");
ABSL_FLAG(int, longest, 16384, "The longest sequence that is timed.");

namespace softlookup::cudnn {
namespace {

constexpr int kNoGpu = 3;
constexpr uint64_t kSeed = 20250301;

// What the checks write and count.
struct Report {
  Json json;
  int failures = 0;

  void Check(bool passed, const std::string& what) {
    if (passed) return;
    ++failures;
    std::printf("FAILED: %s\n", what.c_str());
    json["failures"].push_back(what);
  }
};

struct Case {
  std::string name;
  Tensor<float> query;
  Tensor<float> key;
  Tensor<float> value;
  Tensor<float> gradient;
  std::optional<Tensor<float>> bias;
  std::vector<int64_t> lengths;
  CausalAlignment causal = CausalAlignment::kNone;

  AttentionInputs<float> inputs() const {
    AttentionInputs<float> inputs{
        query.view(), key.view(), value.view(), std::nullopt, {}};
    if (bias.has_value()) inputs.bias = bias->view();
    inputs.mask.causal = causal;
    inputs.mask.key_lengths = lengths;
    return inputs;
  }
};

Tensor<float> DrawTensor(RandomStream& stream, const Shape& shape,
                         Dtype element) {
  Tensor<float> tensor(shape);
  for (float& value : tensor.elements()) {
    value = HalfToFloat(
        FloatToHalf(static_cast<float>(stream.Gaussian()), element), element);
  }
  return tensor;
}

// A problem of these sizes; masks are set by the caller.
Case DrawTensors(RandomStream& stream, int64_t batch, int64_t heads,
                 int64_t key_heads, int64_t queries, int64_t keys,
                 int64_t width, Dtype element) {
  Case drawn;
  drawn.query = DrawTensor(stream, {batch, heads, queries, width}, element);
  drawn.key = DrawTensor(stream, {batch, key_heads, keys, width}, element);
  drawn.value = DrawTensor(stream, {batch, key_heads, keys, width}, element);
  drawn.gradient = DrawTensor(stream, {batch, heads, queries, width}, element);
  return drawn;
}

Case DrawCase(RandomStream& stream, int number, Dtype element) {
  constexpr int64_t kWidths[] = {8, 16, 64, 72, 128, 256};
  constexpr int64_t kLengths[] = {2, 17, 63, 64, 65, 128, 150, 192};
  const int64_t batch = 1 + stream.UniformInt(2);
  const int64_t key_heads = 1 + stream.UniformInt(2);
  const int64_t heads = key_heads * (1 + stream.UniformInt(3));
  const int64_t keys = kLengths[stream.UniformInt(8)];
  const int64_t width = kWidths[stream.UniformInt(6)];
  // Masks take turns, so that none is left out.
  const int mask = number % 7;
  const int64_t queries =
      mask == 2 ? 1 + stream.UniformInt(keys) : kLengths[stream.UniformInt(8)];
  Case drawn = DrawTensors(stream, batch, heads, key_heads, queries, keys,
                           width, element);
  if (mask == 1 || mask == 4 || mask == 6) {
    drawn.causal = CausalAlignment::kTopLeft;
  }
  if (mask == 2) drawn.causal = CausalAlignment::kBottomRight;
  if (mask == 3 || mask == 4) {
    for (int64_t b = 0; b < batch; ++b) {
      drawn.lengths.push_back(stream.UniformInt(keys + 1));  // 0 too
    }
  }
  if (mask >= 5) {
    drawn.bias = DrawTensor(stream, {1, heads, queries, keys}, element);
  }
  drawn.name = absl::StrCat(
      DtypeName(element), " B", batch, " H", heads, "/", key_heads, " Tq",
      queries, " Tk", keys, " D", width, " ", CausalAlignmentName(drawn.causal),
      drawn.lengths.empty()
          ? ""
          : absl::StrCat(" lengths ", ShapeString(drawn.lengths)),
      drawn.bias.has_value() ? " bias" : "");
  return drawn;
}

// Every score near -100: each query is -c times the sum of the keys' common
// part, so that the log-sum-exp lies below -88.7.
Case DrawFaultCase(RandomStream& stream, int64_t queries, int64_t keys,
                   bool negative, Dtype element) {
  constexpr int64_t kWidth = 64;
  Case drawn = DrawTensors(stream, 2, 4, 4, queries, keys, kWidth, element);
  if (negative) {
    // q.k / sqrt(64) = 64 * 3.5 * -3.5625 / 8 = -99.75 and a little noise.
    for (float& value : drawn.query.elements()) value = 3.5f;
    for (float& value : drawn.key.elements()) {
      value = HalfToFloat(FloatToHalf(-3.5625f + value / 16, element), element);
    }
  }
  drawn.name = absl::StrCat(DtypeName(element), " Tq", queries, " Tk", keys,
                            negative ? " scores near -100" : "");
  return drawn;
}

void CheckTensor(const std::string& name, const Tensor<float>& ours,
                 const Bounded& exact, Dtype element, bool rounded,
                 Report& report, Json& json) {
  const ParityReport parity = Compare(ours, exact, element);
  json[name] = {{"error_over_bound", parity.worst},
                {"error_over_rounding", parity.relative}};
  report.Check(parity.worst <= 1, absl::StrCat(json["case"].get<std::string>(),
                                               ": ", name, " ", parity.where));
  if (rounded && ours.size() >= kManyElements) {
    report.Check(
        parity.relative >= kLeastRelative,
        absl::StrCat(json["case"].get<std::string>(), ": ", name,
                     " is nearer than rounding allows: ", parity.relative));
  }
}

// The largest difference, over the largest exact element.
double Difference(const Tensor<float>& ours, const Tensor<float>& other) {
  double worst = 0;
  double largest = 0;
  for (int64_t n = 0; n < ours.size(); ++n) {
    if (!std::isfinite(other[n])) continue;
    worst = std::max(worst, std::abs(double{ours[n]} - other[n]));
    largest = std::max(largest, std::abs(double{other[n]}));
  }
  return largest == 0 ? worst : worst / largest;
}

absl::Status CheckCase(const Case& drawn, Dtype element, GpuRunner& runner,
                       ThreadPool& pool, Report& report, Json& results) {
  const AttentionInputs<float> inputs = drawn.inputs();
  const CudnnAttention attention(&runner, {.element = element});
  SOFTLOOKUP_ASSIGN_OR_RETURN(const AttentionOutputs<float> outputs,
                              attention.Forward(inputs, {}));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const AttentionGradients<float> gradients,
      attention.Backward(inputs, {}, outputs, drawn.gradient.view()));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const ExactAttention exact,
      ComputeExactAttention(inputs, AttentionScale({}, inputs.query.dim(3)),
                            drawn.gradient.view(), element));
  const kernels::KernelOptions run = {.pool = &pool};
  SOFTLOOKUP_ASSIGN_OR_RETURN(const AttentionOutputs<float> float32,
                              kernels::AttentionForward(inputs, {}, run));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const AttentionGradients<float> float32_gradients,
      kernels::AttentionBackward(inputs, {}, float32, drawn.gradient.view(),
                                 run));
  Json json;
  json["case"] = drawn.name;
  // With few keys some results are exact by nature.
  const bool rounded = inputs.key.dim(2) >= 16 && inputs.query.dim(2) >= 16 &&
                       drawn.lengths.empty();
  CheckTensor("output", outputs.output, exact.output, element, rounded, report,
              json);
  CheckTensor("log_sum_exp", outputs.log_sum_exp, exact.log_sum_exp, element,
              false, report, json);
  CheckTensor("query_gradient", gradients.query, exact.query, element, rounded,
              report, json);
  CheckTensor("key_gradient", gradients.key, exact.key, element, rounded,
              report, json);
  CheckTensor("value_gradient", gradients.value, exact.value, element, rounded,
              report, json);
  if (exact.bias.has_value()) {
    CheckTensor("bias_gradient", *gradients.bias, *exact.bias, element, rounded,
                report, json);
  }
  json["difference_from_float32"] = {
      {"output", Difference(outputs.output, float32.output)},
      {"query_gradient", Difference(gradients.query, float32_gradients.query)},
      {"key_gradient", Difference(gradients.key, float32_gradients.key)},
      {"value_gradient", Difference(gradients.value, float32_gradients.value)}};
  std::printf("  %-60s output %.2f dQ %.2f dK %.2f dV %.2f of the bound\n",
              drawn.name.c_str(),
              json["output"]["error_over_bound"].get<double>(),
              json["query_gradient"]["error_over_bound"].get<double>(),
              json["key_gradient"]["error_over_bound"].get<double>(),
              json["value_gradient"]["error_over_bound"].get<double>());
  results.push_back(std::move(json));
  return absl::OkStatus();
}

absl::Status CheckParity(GpuRunner& runner, Report& report) {
  ThreadPool pool(AvailableProcessors());
  std::printf("parity\n");
  for (const Dtype element : {Dtype::kBF16, Dtype::kF16}) {
    RandomStream stream(kSeed, absl::StrCat("gpu_check ", DtypeName(element)));
    for (int number = 0; number < absl::GetFlag(FLAGS_cases); ++number) {
      SOFTLOOKUP_RETURN_IF_ERROR(CheckCase(DrawCase(stream, number, element),
                                           element, runner, pool, report,
                                           report.json["parity"]));
    }
  }
  std::printf("known faults\n");
  for (const Dtype element : {Dtype::kBF16, Dtype::kF16}) {
    RandomStream stream(kSeed, absl::StrCat("faults ", DtypeName(element)));
    for (const auto& [queries, keys, negative] :
         {std::tuple(64, 64, true), std::tuple(64, 64, false),
          std::tuple(192, 192, true), std::tuple(128, 320, true),
          std::tuple(1, 64, true), std::tuple(1, 64, false),
          std::tuple(1, 17, false)}) {
      SOFTLOOKUP_RETURN_IF_ERROR(CheckCase(
          DrawFaultCase(stream, queries, keys, negative, element), element,
          runner, pool, report, report.json["known_faults"]));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckRepeats(GpuRunner& runner, Report& report) {
  std::printf("repeats\n");
  RandomStream stream(kSeed, "repeats");
  Case drawn = DrawTensors(stream, 2, 4, 2, 1000, 1000, 128, Dtype::kBF16);
  drawn.causal = CausalAlignment::kTopLeft;
  const CudnnAttention attention(
      &runner, {.element = Dtype::kBF16, .deterministic = true});
  SOFTLOOKUP_ASSIGN_OR_RETURN(const AttentionOutputs<float> outputs,
                              attention.Forward(drawn.inputs(), {}));
  std::optional<AttentionGradients<float>> first;
  bool same = true;
  for (int repeat = 0; repeat < 3; ++repeat) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        AttentionGradients<float> gradients,
        attention.Backward(drawn.inputs(), {}, outputs, drawn.gradient.view()));
    if (!first.has_value()) {
      first = std::move(gradients);
      continue;
    }
    const auto equal = [](const Tensor<float>& a, const Tensor<float>& b) {
      return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
    };
    same = same && equal(first->query, gradients.query) &&
           equal(first->key, gradients.key) &&
           equal(first->value, gradients.value);
  }
  report.Check(same, "the deterministic backward pass differs between runs");
  report.json["deterministic_backward_repeats"] = same;
  return absl::OkStatus();
}

// A tensor's bytes for a problem of any size: a million drawn elements, again
// and again.
class Filler {
 public:
  Filler() : block_(1 << 20) {
    RandomStream stream(kSeed, "filler");
    for (uint16_t& bits : block_) {
      bits = FloatToHalf(static_cast<float>(stream.Gaussian()), Dtype::kBF16);
    }
  }

  std::map<CudnnTensorId, HostBytes> Tensors(const CudnnProblem& problem) {
    std::map<CudnnTensorId, HostBytes> tensors;
    for (const CudnnTensor& tensor : CudnnTensors(problem)) {
      std::vector<uint8_t>& bytes = memory_[tensor.id];
      bytes.assign(tensor.Bytes(), 0);
      if (tensor.dtype == Dtype::kI32) {
        const int32_t length = static_cast<int32_t>(
            tensor.id == CudnnTensorId::kQueryLengths ? problem.sizes.queries
                                                      : problem.sizes.keys);
        for (int64_t n = 0; n < tensor.Bytes() / 4; ++n) {
          std::memcpy(&bytes[4 * n], &length, 4);
        }
      } else if (tensor.dtype == Dtype::kF32) {
        // About the log-sum-exp of unit Gaussian scores.
        const float value = std::log(static_cast<float>(problem.sizes.keys));
        for (int64_t n = 0; n < tensor.Bytes() / 4; ++n) {
          std::memcpy(&bytes[4 * n], &value, 4);
        }
      } else {
        const int64_t block = 2 * static_cast<int64_t>(block_.size());
        for (int64_t at = 0; at < tensor.Bytes(); at += block) {
          std::memcpy(&bytes[at], block_.data(),
                      std::min(block, tensor.Bytes() - at));
        }
      }
      HostBytes& host = tensors[tensor.id];
      host.bytes = tensor.Bytes();
      if (tensor.written) {
        host.output = bytes.data();
      } else {
        host.input = bytes.data();
      }
    }
    return tensors;
  }

 private:
  std::vector<uint16_t> block_;
  std::map<CudnnTensorId, std::vector<uint8_t>> memory_;
};

absl::Status CheckPlans(GpuRunner& runner, Report& report) {
  std::printf("plans\n");
  CudnnProblem problem = ContiguousProblem({.batch = 1,
                                            .query_heads = 2,
                                            .key_heads = 2,
                                            .queries = 128,
                                            .keys = 128,
                                            .width = 64,
                                            .value_width = 64},
                                           Dtype::kBF16, false);
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const GpuDescription described,
      GpuDescription::FromJson(kH200Json, kH200Capability));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const std::unique_ptr<CudnnPlan> built,
                              CudnnPlan::Build(problem, described));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const std::string bytes, built->Serialize());
  const auto loaded = CudnnPlan::Deserialize(bytes, runner.handle());
  report.Check(loaded.ok(), absl::StrCat("a plan for a described GPU: ",
                                         loaded.status().ToString()));
  bool same = false;
  if (loaded.ok()) {
    Filler filler;
    const std::map<CudnnTensorId, HostBytes> tensors = filler.Tensors(problem);
    const HostBytes& output = tensors.at(CudnnTensorId::kOutput);
    const auto* begin = static_cast<const uint8_t*>(output.output);
    SOFTLOOKUP_RETURN_IF_ERROR(runner.Run(problem, tensors));
    const std::vector<uint8_t> expected(begin, begin + output.bytes);
    SOFTLOOKUP_RETURN_IF_ERROR(runner.Upload(problem, tensors));
    SOFTLOOKUP_RETURN_IF_ERROR(runner.Start(problem, **loaded));
    SOFTLOOKUP_RETURN_IF_ERROR(runner.Download(tensors));
    same = std::equal(expected.begin(), expected.end(), begin);
    report.Check(same, "the loaded plan gives another output");
  }
  report.json["serialized_plan_runs"] = same;
  return absl::OkStatus();
}

absl::Status MeasureSpeed(GpuRunner& runner, Report& report) {
  std::printf(
      "speed, bfloat16, H 64 over 8, TFLOP/s\n"
      "  %5s %6s %-6s %9s %9s\n",
      "D", "T", "mask", "forward", "backward");
  Filler filler;
  for (const int64_t width : {64, 128}) {
    for (int64_t length = 1024; length <= absl::GetFlag(FLAGS_longest);
         length *= 2) {
      for (const bool causal : {true, false}) {
        double teraflops[2] = {};
        for (const bool backward : {false, true}) {
          const int64_t batch = std::max<int64_t>(1, 8192 / length);
          CudnnProblem problem = ContiguousProblem({.batch = batch,
                                                    .query_heads = 64,
                                                    .key_heads = 8,
                                                    .queries = length,
                                                    .keys = length,
                                                    .width = width,
                                                    .value_width = width},
                                                   Dtype::kBF16, backward);
          if (causal) problem.causal = CausalAlignment::kTopLeft;
          SOFTLOOKUP_RETURN_IF_ERROR(
              runner.Upload(problem, filler.Tensors(problem)));
          const auto start = [&](int count) {
            return [&runner, &problem, count]() -> absl::Status {
              for (int n = 0; n < count; ++n) {
                SOFTLOOKUP_RETURN_IF_ERROR(runner.Start(problem));
              }
              return absl::OkStatus();
            };
          };
          SOFTLOOKUP_RETURN_IF_ERROR(start(2)());  // warm-up
          std::vector<double> seconds;
          for (int sample = 0; sample < 5; ++sample) {
            constexpr int kCalls = 5;
            SOFTLOOKUP_ASSIGN_OR_RETURN(const double elapsed,
                                        runner.gpu().Time(start(kCalls)));
            seconds.push_back(elapsed / kCalls);
          }
          const Timing timing = Summarize(seconds);
          // Two products of B H T T D multiply-adds forward, five backward;
          // half of them under a causal mask.
          const double operations = (backward ? 10.0 : 4.0) * batch * 64 *
                                    length * length * width *
                                    (causal ? 0.5 : 1.0);
          teraflops[backward] = operations / timing.median * 1e-12;
          Json row;
          row["width"] = width;
          row["length"] = length;
          row["batch"] = batch;
          row["causal"] = causal;
          row["backward"] = backward;
          row["median_seconds"] = timing.median;
          row["minimum_seconds"] = timing.minimum;
          row["teraflops"] = teraflops[backward];
          report.json["speed"].push_back(std::move(row));
        }
        std::printf("  %5d %6d %-6s %9.0f %9.0f\n", static_cast<int>(width),
                    static_cast<int>(length), causal ? "causal" : "full",
                    teraflops[0], teraflops[1]);
      }
    }
  }
  // What a call costs the host: little work, many calls.
  CudnnProblem small = ContiguousProblem({.batch = 1,
                                          .query_heads = 1,
                                          .key_heads = 1,
                                          .queries = 64,
                                          .keys = 64,
                                          .width = 64,
                                          .value_width = 64},
                                         Dtype::kBF16, false);
  SOFTLOOKUP_RETURN_IF_ERROR(runner.Upload(small, filler.Tensors(small)));
  SOFTLOOKUP_RETURN_IF_ERROR(runner.Start(small));
  SOFTLOOKUP_RETURN_IF_ERROR(runner.gpu().Synchronize());
  constexpr int kCalls = 200;
  const double before = SecondsNow();
  for (int call = 0; call < kCalls; ++call) {
    SOFTLOOKUP_RETURN_IF_ERROR(runner.Start(small));
  }
  const double microseconds = (SecondsNow() - before) / kCalls * 1e6;
  SOFTLOOKUP_RETURN_IF_ERROR(runner.gpu().Synchronize());
  std::printf("host: %.1f us a call\n", microseconds);
  report.json["host_microseconds_per_call"] = microseconds;
  return absl::OkStatus();
}

absl::Status Run(int* exit_code) {
  const absl::StatusOr<std::unique_ptr<Gpu>> gpu = Gpu::Open();
  if (!gpu.ok()) {
    std::fprintf(stderr, "gpu_check: no GPU: %s\n",
                 std::string(gpu.status().message()).c_str());
    *exit_code = kNoGpu;
    return absl::OkStatus();
  }
  const std::string output = ResolveUserPath(absl::GetFlag(FLAGS_output));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckWritable(output));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const std::unique_ptr<GpuRunner> runner,
                              GpuRunner::Open());
  SOFTLOOKUP_ASSIGN_OR_RETURN(const size_t version, LoadedCudnnVersion());
  const GpuInfo& info = runner->gpu().info();
  std::printf("%s, driver for CUDA %s, cuDNN %s\n", info.name.c_str(),
              CudaVersionName(info.driver_version).c_str(),
              CudnnVersionName(version).c_str());
  Report report;
  report.json["device"] = info.name;
  report.json["driver_cuda_version"] = CudaVersionName(info.driver_version);
  report.json["cudnn_version"] = CudnnVersionName(version);
  report.json["failures"] = Json::array();
  SOFTLOOKUP_RETURN_IF_ERROR(CheckParity(*runner, report));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckRepeats(*runner, report));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckPlans(*runner, report));
  SOFTLOOKUP_RETURN_IF_ERROR(MeasureSpeed(*runner, report));
  SOFTLOOKUP_RETURN_IF_ERROR(
      WriteFileAtomically(output, DumpJson(report.json)));
  std::printf("%d failures; wrote %s\n", report.failures, output.c_str());
  if (report.failures > 0) {
    return absl::InternalError(absl::StrCat(report.failures, " checks failed"));
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace softlookup::cudnn

int main(int argc, char** argv) {
  int exit_code = 0;
  const int code = softlookup::RunProgram(
      argc, argv,
      "checks attention by cuDNN on this machine's GPU against the float64 "
      "reference, and measures it.",
      [&exit_code] { return softlookup::cudnn::Run(&exit_code); });
  return code != 0 ? code : exit_code;
}
