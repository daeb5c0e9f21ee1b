// How fast the float32 kernels are: attention forward and backward, matrix
// products and elementary functions, as shares of what the processor can do.
//
//   bazel run //attention:attention_benchmark
//   bazel run //attention:attention_benchmark -- --threads=1,2 --filter=causal
//       --isa=avx2 --json=/tmp/speed.json
//
// The peak is measured before every case, on the same instruction set and
// threads (peak.h). Operations are the useful ones: under a causal
// mask those of visible pairs.
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "attention/attention.h"
#include "attention/benchmark/benchmark_flags.h"
#include "attention/benchmark/peak.h"
#include "attention/kernels/array_functions.h"
#include "attention/kernels/attention_kernels.h"
#include "attention/kernels/gemm.h"
#include "attention/kernels/kernel_options.h"
#include "attention/mask.h"
#include "base/check.h"
#include "base/file.h"
#include "base/json.h"
#include "base/program.h"
#include "base/random/random.h"
#include "base/status.h"
#include "base/tensor/tensor.h"
#include "base/thread_pool.h"
#include "base/timing.h"

ABSL_FLAG(std::string, isa, "auto",
          "Instruction set: auto, portable, avx2 or avx512.");
ABSL_FLAG(std::string, threads, "1",
          "Threads, or several counts to compare, such as 1,2.");
ABSL_FLAG(std::string, filter, "",
          "Only cases whose name contains this, such as causal or gemm.");
ABSL_FLAG(double, seconds, 0.2, "Least time for each case.");
ABSL_FLAG(std::string, json, "", "Also write the rows to this file.");

namespace softlookup {
namespace {

using kernels::KernelOptions;

// One thing to measure.
struct Case {
  std::string name;
  double operations;      // per call
  int64_t scratch_bytes;  // of one thread's run
  // Makes the inputs and returns the call.
  std::function<std::function<void(const KernelOptions&)>()> prepare;
};

Tensor<float> Gaussian(RandomStream& stream, Shape shape) {
  Tensor<float> tensor(std::move(shape));
  for (int64_t i = 0; i < tensor.size(); ++i) {
    tensor[i] = static_cast<float>(stream.Gaussian());
  }
  return tensor;
}

// An attention problem that owns its tensors, outputs and gradients included,
// so that a call allocates nothing large.
struct AttentionData {
  Tensor<float> query, key, value, output, log_sum_exp, output_gradient;
  Tensor<float> d_query, d_key, d_value;
  std::vector<int64_t> key_lengths;
  AttentionInputs<float> inputs;
};

enum class MaskKind { kFull, kCausal, kPadded };

struct AttentionShape {
  int64_t batch;
  int64_t heads;
  int64_t positions;
  int64_t width;
};

std::shared_ptr<AttentionData> MakeAttention(const AttentionShape& shape,
                                             MaskKind mask) {
  RandomStream stream(1, "attention_benchmark");
  const Shape full = {shape.batch, shape.heads, shape.positions, shape.width};
  auto data = std::make_shared<AttentionData>();
  data->query = Gaussian(stream, full);
  data->key = Gaussian(stream, full);
  data->value = Gaussian(stream, full);
  data->output_gradient = Gaussian(stream, full);
  data->output = Tensor<float>(full);
  data->log_sum_exp =
      Tensor<float>({shape.batch, shape.heads, shape.positions});
  data->d_query = Tensor<float>(full);
  data->d_key = Tensor<float>(full);
  data->d_value = Tensor<float>(full);
  data->inputs.query = std::as_const(data->query).view();
  data->inputs.key = std::as_const(data->key).view();
  data->inputs.value = std::as_const(data->value).view();
  if (mask == MaskKind::kCausal) {
    data->inputs.mask.causal = CausalAlignment::kTopLeft;
  }
  if (mask == MaskKind::kPadded) {
    data->key_lengths.assign(shape.batch, shape.positions * 3 / 4);
    data->inputs.mask.key_lengths = data->key_lengths;
  }
  return data;
}

void Forward(AttentionData& data, const KernelOptions& execution) {
  const absl::Status status = kernels::AttentionForwardInto(
      data.inputs, {}, execution,
      {data.output.view(), data.log_sum_exp.view()});
  SOFTLOOKUP_CHECK(status.ok(), "a valid problem");
}

void Backward(AttentionData& data, const KernelOptions& execution) {
  const absl::Status status = kernels::AttentionBackwardInto(
      data.inputs, {}, std::as_const(data.output).view(),
      std::as_const(data.log_sum_exp).view(),
      std::as_const(data.output_gradient).view(), execution,
      {data.d_query.view(), data.d_key.view(), data.d_value.view(), {}});
  SOFTLOOKUP_CHECK(status.ok(), "a valid problem");
}

Case AttentionCaseOf(const std::string& kind, const AttentionShape& shape,
                     MaskKind mask) {
  const auto positions = static_cast<double>(shape.positions);
  double pairs = positions * positions;
  std::string mask_name = "full";
  if (mask == MaskKind::kCausal) {
    pairs = positions * (positions + 1) / 2;
    mask_name = "causal";
  } else if (mask == MaskKind::kPadded) {
    pairs = positions * static_cast<double>(shape.positions * 3 / 4);
    mask_name = "padded";
  }
  // Two products forward, five backward, two operations per multiply-add.
  const double products = kind == "forward" ? 2 : kind == "backward" ? 5 : 7;
  AttentionSizes sizes;
  sizes.batch = shape.batch;
  sizes.query_heads = sizes.key_heads = shape.heads;
  sizes.queries = sizes.keys = shape.positions;
  sizes.width = sizes.value_width = shape.width;
  return {absl::StrCat(kind, " ", mask_name, " d=", shape.width, " T=",
                       shape.positions, " BxH=", shape.batch, "x", shape.heads),
          products * 2 * pairs * static_cast<double>(shape.width) *
              static_cast<double>(shape.batch * shape.heads),
          kernels::AttentionScratchBytes(sizes, kind != "forward", 1),
          [kind, shape, mask] {
            const auto data = MakeAttention(shape, mask);
            Forward(*data, {});  // the backward pass reads its outputs
            return [kind, data](const KernelOptions& execution) {
              if (kind != "backward") Forward(*data, execution);
              if (kind != "forward") Backward(*data, execution);
            };
          }};
}

Case GemmCase(int64_t m, int64_t n, int64_t k, const std::string& transposed) {
  return {absl::StrCat("gemm ", transposed, " ", m, "x", n, "x", k),
          2.0 * static_cast<double>(m) * static_cast<double>(n) *
              static_cast<double>(k),
          kernels::kGemmScratchBytes, [m, n, k, transposed] {
            RandomStream stream(1, "attention_benchmark gemm");
            const bool a_t = transposed[0] == 'T';
            const bool b_t = transposed[1] == 'T';
            const auto a = std::make_shared<Tensor<float>>(
                Gaussian(stream, a_t ? Shape{k, m} : Shape{m, k}));
            const auto b = std::make_shared<Tensor<float>>(
                Gaussian(stream, b_t ? Shape{n, k} : Shape{k, n}));
            const auto c = std::make_shared<Tensor<float>>(Shape{m, n});
            return [=](const KernelOptions& execution) {
              const StridedView<const float> a_view =
                  a_t ? std::as_const(*a).view().Transpose(0, 1)
                      : std::as_const(*a).view();
              const StridedView<const float> b_view =
                  b_t ? std::as_const(*b).view().Transpose(0, 1)
                      : std::as_const(*b).view();
              const absl::Status status =
                  kernels::Gemm(a_view, b_view, c->view(), {}, execution);
              SOFTLOOKUP_CHECK(status.ok(), "a valid product");
            };
          }};
}

Case ArrayCase(const std::string& name, kernels::ArrayFunction function) {
  constexpr int64_t kSize = 1 << 16;
  return {absl::StrCat("array ", name, " n=", kSize),
          static_cast<double>(kSize), 0, [function] {
            RandomStream stream(1, "attention_benchmark array");
            const auto x =
                std::make_shared<Tensor<float>>(Gaussian(stream, {kSize}));
            const auto y = std::make_shared<Tensor<float>>(Shape{kSize});
            return [=](const KernelOptions& execution) {
              const absl::Status status =
                  kernels::MapArray(function, x->elements(),
                                    absl::MakeSpan(y->elements()), execution);
              SOFTLOOKUP_CHECK(status.ok(), "two arrays of one size");
            };
          }};
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const std::string kind : {"forward", "backward"}) {
    for (const MaskKind mask : {MaskKind::kFull, MaskKind::kCausal}) {
      for (const int64_t positions : {64, 128, 256, 512, 1024, 4096}) {
        for (const int64_t width : {32, 64, 128}) {
          cases.push_back(
              AttentionCaseOf(kind, {1, 1, positions, width}, mask));
        }
      }
    }
    for (const int64_t positions : {17, 500}) {
      cases.push_back(
          AttentionCaseOf(kind, {4, 8, positions, 64}, MaskKind::kCausal));
    }
    for (const int64_t width : {32, 64, 128}) {
      cases.push_back(
          AttentionCaseOf(kind, {4, 8, 256, width}, MaskKind::kCausal));
      cases.push_back(
          AttentionCaseOf(kind, {4, 8, 512, width}, MaskKind::kPadded));
    }
    cases.push_back(AttentionCaseOf(kind, {1, 1, 512, 96}, MaskKind::kFull));
    cases.push_back(AttentionCaseOf(kind, {1, 1, 512, 256}, MaskKind::kFull));
    cases.push_back(AttentionCaseOf(kind, {32, 4, 128, 64}, MaskKind::kCausal));
  }
  // The shape that the two-layer model trains at.
  cases.push_back(
      AttentionCaseOf("forward+backward", {32, 2, 64, 32}, MaskKind::kCausal));
  for (const int64_t n : {64, 128, 256, 512, 1024}) {
    cases.push_back(GemmCase(n, n, n, "NN"));
  }
  for (const std::string transposed : {"NT", "TN", "TT"}) {
    cases.push_back(GemmCase(256, 256, 256, transposed));
    cases.push_back(GemmCase(1024, 1024, 1024, transposed));
  }
  // Projections of 2,048 tokens and their weights' gradients.
  for (const int64_t width : {64, 128, 256}) {
    cases.push_back(GemmCase(2048, width, width, "NN"));
    cases.push_back(GemmCase(2048, 3 * width, width, "NT"));
    cases.push_back(GemmCase(width, width, 2048, "TN"));
  }
  cases.push_back(GemmCase(1, 1024, 1024, "NN"));
  cases.push_back(GemmCase(1024, 1, 1024, "NN"));
  for (const auto& [name, function] :
       std::vector<std::pair<std::string, kernels::ArrayFunction>>{
           {"exp", kernels::ArrayFunction::kExp},
           {"log", kernels::ArrayFunction::kLog},
           {"tanh", kernels::ArrayFunction::kTanh},
           {"sin", kernels::ArrayFunction::kSin},
           {"cos", kernels::ArrayFunction::kCos},
           {"erf", kernels::ArrayFunction::kErf},
           {"sigmoid", kernels::ArrayFunction::kSigmoid},
           {"gelu", kernels::ArrayFunction::kGelu},
           {"gelu slope", kernels::ArrayFunction::kGeluSlope}}) {
    cases.push_back(ArrayCase(name, function));
  }
  return cases;
}

absl::Status Run() {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const kernels::InstructionSet set,
                              kernels::ParseIsaFlag(absl::GetFlag(FLAGS_isa)));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const std::vector<int> counts,
      kernels::ParseThreadCounts(absl::GetFlag(FLAGS_threads)));
  const double least = absl::GetFlag(FLAGS_seconds);
  SOFTLOOKUP_RETURN_IF_ERROR(kernels::CheckSecondsFlag(least));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const std::vector<Case> cases,
      kernels::SelectCases(Cases(), absl::GetFlag(FLAGS_filter), "case",
                           "forward, backward, causal, gemm, array or d=64"));
  const std::string json = ResolveUserPath(absl::GetFlag(FLAGS_json));
  if (!json.empty()) SOFTLOOKUP_RETURN_IF_ERROR(CheckWritable(json));
  std::vector<std::unique_ptr<ThreadPool>> pools;
  for (const int count : counts) {
    pools.push_back(std::make_unique<ThreadPool>(count));
  }

  std::printf(
      "%s, peak measured before every case; %% of peak from the minimum\n"
      "(array cases: elements instead of operations)\n\n"
      "%-44s %7s %10s %10s %8s %6s %9s\n",
      kernels::InstructionSetName(set).c_str(), "case", "threads", "min ms",
      "median ms", "GFLOP/s", "% peak", "scratch B");
  Json rows = Json::array();
  for (const Case& one : cases) {
    const auto call = one.prepare();
    double first = 0;
    for (size_t i = 0; i < pools.size(); ++i) {
      const KernelOptions execution = {set, pools[i].get()};
      const double peak = kernels::MeasurePeak(execution);
      const Timing timing =
          MeasureTime([&] { call(execution); }, {.min_seconds = least});
      const bool array = absl::StartsWith(one.name, "array");
      const double speed = one.operations / timing.minimum;
      std::printf(
          "%-44s %7d %10.4f %10.4f %8.2f %6s %9d", one.name.c_str(), counts[i],
          timing.minimum * 1e3, timing.median * 1e3, speed * 1e-9,
          array ? "" : absl::StrFormat("%.1f", 100 * speed / peak).c_str(),
          static_cast<int>(one.scratch_bytes));
      if (i == 0) {
        first = timing.minimum;
      } else {
        std::printf("  %.2fx of %d", first / timing.minimum, counts[0]);
      }
      std::printf("\n");
      std::fflush(stdout);
      rows.push_back({{"case", one.name},
                      {"instruction_set", kernels::InstructionSetName(set)},
                      {"threads", counts[i]},
                      {"minimum_seconds", timing.minimum},
                      {"median_seconds", timing.median},
                      {"samples", timing.samples},
                      {"operations", one.operations},
                      {"peak_operations_per_second", peak},
                      {"scratch_bytes", one.scratch_bytes}});
    }
  }
  if (json.empty()) return absl::OkStatus();
  return WriteFileAtomically(json, DumpJson(rows));
}

}  // namespace
}  // namespace softlookup

int main(int argc, char** argv) {
  return softlookup::RunProgram(
      argc, argv,
      "measures the float32 kernels: time, operations per second and the share "
      "of the processor's peak, for attention forward and backward, matrix "
      "products and elementary functions.",
      softlookup::Run);
}
