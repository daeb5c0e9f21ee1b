#include "attention/attend/attend_run.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "attention/attend/attend_input.h"
#include "attention/attend/attention_backend.h"
#include "attention/attention.h"
#include "attention/cudnn/gpu_attention.h"
#include "attention/kernels/instruction_set.h"
#include "attention/kernels/kernel_options.h"
#include "base/saturating.h"
#include "base/status.h"
#include "base/tensor/dtype.h"
#include "base/tensor/half.h"
#include "base/tensor/shape.h"
#include "base/tensor/stored_tensor.h"
#include "base/tensor/strided_view.h"
#include "base/tensor/tensor.h"
#include "base/thread_pool.h"

namespace softlookup {
namespace {

// The number of rows (b, h, i) that see no key.
template <typename T>
int64_t CountFullyMaskedRows(const AttentionInputs<T>& inputs,
                             const AttentionSizes& sizes) {
  constexpr T kMinusInfinity = -std::numeric_limits<T>::infinity();
  std::optional<StridedView<const T>> bias;
  if (inputs.bias.has_value()) {
    bias = inputs.bias->BroadcastTo(sizes.ScoreShape()).value();
  }
  int64_t rows = 0;
  for (int64_t b = 0; b < sizes.batch; ++b) {
    for (int64_t h = 0; h < sizes.query_heads; ++h) {
      for (int64_t i = 0; i < sizes.queries; ++i) {
        bool visible = false;
        for (int64_t j = 0; j < sizes.keys && !visible; ++j) {
          visible =
              inputs.mask.Allows(b, h, i, j, sizes) &&
              !(bias.has_value() && (*bias)(b, h, i, j) == kMinusInfinity);
        }
        if (!visible) ++rows;
      }
    }
  }
  return rows;
}

// "mask [1, 1, 5, 7], key_lengths", or "none".
template <typename T>
std::string Restrictions(const AttentionInputs<T>& inputs) {
  std::string text;
  const auto append = [&text](const std::string& what) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", what);
  };
  if (inputs.mask.causal != CausalAlignment::kNone) {
    append(absl::StrCat("causal ", CausalAlignmentName(inputs.mask.causal)));
  }
  if (inputs.mask.allowed.has_value()) {
    append(absl::StrCat("mask ", ShapeString(inputs.mask.allowed->shape())));
  }
  if (!inputs.mask.key_lengths.empty()) append("key_lengths");
  if (!inputs.mask.key_starts.empty()) append("key_starts");
  if (inputs.bias.has_value()) {
    append(absl::StrCat("bias ", ShapeString(inputs.bias->shape())));
  }
  return text.empty() ? "none" : text;
}

// " (avx2, threads: 2)", or nothing where there is no choice.
template <typename T>
std::string RunDescription(const AttendRequest& request, int threads) {
  if (!(*FindAttentionBackend<T>(request.backend))->has_run_options) return "";
  return absl::StrCat(" (",
                      kernels::InstructionSetName(request.instruction_set),
                      ", threads: ", threads, ")");
}

// What ran, for the summary and the file.
struct Ran {
  std::string backend;      // "simd"
  std::string description;  // "simd (avx2, threads: 2)"
  Precision precision = Precision::kFloat64;
};

template <typename T>
std::string Summary(const AttendRequest& request,
                    const AttentionInputs<T>& inputs,
                    const AttentionSizes& sizes, const Ran& ran) {
  const bool default_scale = !request.options.scale.has_value();
  return absl::StrCat(
      "sizes: B ", sizes.batch, ", H ", sizes.query_heads, ", Hkv ",
      sizes.key_heads, ", Tq ", sizes.queries, ", Tk ", sizes.keys, ", D ",
      sizes.width, ", Dv ", sizes.value_width,
      "\nscale: ", AttentionScale(request.options, sizes.width),
      default_scale ? " (1 / sqrt(D))" : "",
      "\nmasks and bias: ", Restrictions(inputs),
      "\nbackend: ", ran.description,
      ", precision: ", PrecisionName(ran.precision),
      "\nfully masked rows: ", CountFullyMaskedRows(inputs, sizes), " of ",
      sizes.batch * sizes.query_heads * sizes.queries,
      " (rule: ", FullyMaskedName(request.options.fully_masked), ")\n");
}

// A tensor in the type of the precision that it was computed in.
template <typename T>
StoredTensor Store(const std::string& name, Tensor<T> tensor,
                   Precision precision) {
  if constexpr (std::is_same_v<T, float>) {
    if (precision == Precision::kBFloat16 || precision == Precision::kFloat16) {
      std::string bytes;
      bytes.reserve(2 * tensor.size());
      for (const float element : tensor.elements()) {
        const uint16_t bits = precision == Precision::kBFloat16
                                  ? BFloat16FromFloat(element)
                                  : HalfFromFloat(element);
        bytes.push_back(static_cast<char>(bits & 0xff));
        bytes.push_back(static_cast<char>(bits >> 8));
      }
      return StoreBytes(
          name, precision == Precision::kBFloat16 ? Dtype::kBF16 : Dtype::kF16,
          tensor.shape(), std::move(bytes));
    }
  }
  return StoreTensor(name, std::move(tensor));
}

template <typename T>
AttendResult Result(AttentionOutputs<T> outputs,
                    std::optional<AttentionGradients<T>> computed,
                    const Ran& ran, std::string summary) {
  AttendResult result;
  std::vector<StoredTensor>& tensors = result.file.tensors;
  const auto store = [&](const std::string& name, Tensor<T> tensor) {
    tensors.push_back(Store(name, std::move(tensor), ran.precision));
  };
  store("output", std::move(outputs.output));
  tensors.push_back(StoreTensor("log_sum_exp", std::move(outputs.log_sum_exp)));
  if (outputs.weights.has_value()) {
    store("weights", *std::move(outputs.weights));
  }
  if (computed.has_value()) {
    AttentionGradients<T>& gradients = *computed;
    store("query_gradient", std::move(gradients.query));
    store("key_gradient", std::move(gradients.key));
    store("value_gradient", std::move(gradients.value));
    if (gradients.bias.has_value()) {
      store("bias_gradient", *std::move(gradients.bias));
    }
  }
  result.file.metadata = {{"backend", ran.backend},
                          {"precision", PrecisionName(ran.precision)},
                          {"program", "softlookup attend"}};
  result.summary = std::move(summary);
  return result;
}

// On the CPU.
template <typename T>
absl::StatusOr<AttendResult> Run(const AttendRequest& request,
                                 const SafetensorsFile& file) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const AttentionBackend<T>* backend,
                              FindAttentionBackend<T>(request.backend));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const AttendInput<T> input,
      AttendInput<T>::Load(file, request, [&](const AttentionSizes& sizes) {
        return backend->scratch_bytes(
            sizes, file.Find("output_gradient") != nullptr, request.threads);
      }));
  const AttentionInputs<T> inputs = input.inputs();
  ThreadPool pool(request.threads);
  const kernels::KernelOptions run = {request.instruction_set, &pool};
  SOFTLOOKUP_ASSIGN_OR_RETURN(AttentionOutputs<T> outputs,
                              backend->forward(inputs, request.options, run));
  std::optional<AttentionGradients<T>> computed;
  if (input.output_gradient().has_value()) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        computed, backend->backward(inputs, request.options, outputs,
                                    input.output_gradient()->view(), run));
  }
  const Ran ran = {
      request.backend,
      absl::StrCat(request.backend, RunDescription<T>(request, pool.threads())),
      request.precision};
  return Result(std::move(outputs), std::move(computed), ran,
                Summary(request, inputs, input.sizes(), ran));
}

absl::StatusOr<AttendResult> RunOnCpu(const AttendRequest& request,
                                      const SafetensorsFile& file) {
  return request.precision == Precision::kFloat32 ? Run<float>(request, file)
                                                  : Run<double>(request, file);
}

// The tensors that hold numbers, of those that the file has.
std::vector<const StoredTensor*> Numbers(const SafetensorsFile& file) {
  std::vector<const StoredTensor*> numbers;
  for (const char* name :
       {"query", "key", "value", "bias", "output_gradient"}) {
    const StoredTensor* tensor = file.Find(name);
    if (tensor != nullptr) numbers.push_back(tensor);
  }
  return numbers;
}

// On a GPU, in the request's precision, which is half.
absl::StatusOr<AttendResult> RunOnGpu(const AttendRequest& request,
                                      const SafetensorsFile& file) {
  const GpuAttentionOptions run = {
      .element = request.precision == Precision::kBFloat16 ? Dtype::kBF16
                                                           : Dtype::kF16,
      .deterministic = request.deterministic};
  for (const StoredTensor* tensor : Numbers(file)) {
    if (tensor->dtype == run.element || tensor->dtype == Dtype::kF32) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(tensor->name, " has dtype ", DtypeName(tensor->dtype),
                     "; allowed with --backend=cudnn --precision=",
                     PrecisionName(request.precision), ": ",
                     DtypeName(run.element), ", and F32, which is rounded"));
  }
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const AttendInput<float> input,
      AttendInput<float>::Load(file, request, [&](const AttentionSizes& sizes) {
        // Copies of all tensors in half precision, and of the outputs in
        // float.
        const int64_t row = sizes.width + sizes.value_width;
        return SaturatingProduct(
            {12, sizes.batch,
             SaturatingSum(
                 {SaturatingProduct({sizes.query_heads, sizes.queries, row}),
                  SaturatingProduct({sizes.key_heads, sizes.keys, row})})});
      }));
  const AttentionInputs<float> inputs = input.inputs();
  // Before the GPU is looked for: this message is of use anywhere.
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckGpuAttention(inputs, request.options, run.element,
                        input.output_gradient().has_value()));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const std::unique_ptr<GpuAttention> gpu,
                              OpenGpuAttention());
  SOFTLOOKUP_ASSIGN_OR_RETURN(AttentionOutputs<float> outputs,
                              gpu->Forward(inputs, request.options, run));
  std::optional<AttentionGradients<float>> computed;
  if (input.output_gradient().has_value()) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        computed, gpu->Backward(inputs, request.options, outputs,
                                input.output_gradient()->view(), run));
  }
  const Ran ran = {
      "cudnn",
      absl::StrCat("cudnn (", gpu->device(),
                   request.deterministic ? ", deterministic)" : ")"),
      request.precision};
  return Result(std::move(outputs), std::move(computed), ran,
                Summary(request, inputs, input.sizes(), ran));
}

// Why the input is not one that "auto" gives to a GPU, or nothing: float32 and
// more is never lowered.
std::optional<std::string> NotHalf(const SafetensorsFile& file) {
  const std::vector<const StoredTensor*> numbers = Numbers(file);
  for (const StoredTensor* tensor : numbers) {
    if (tensor->dtype == Dtype::kF16 || tensor->dtype == Dtype::kBF16) {
      if (tensor->dtype == numbers[0]->dtype) continue;
    }
    return absl::StrCat(tensor->name, " is ", DtypeName(tensor->dtype),
                        "; cudnn is for input that is all F16 or all BF16");
  }
  return std::nullopt;
}

absl::StatusOr<AttendResult> RunAuto(const AttendRequest& request,
                                     const SafetensorsFile& file) {
  std::optional<std::string> reason;
  if (file.Find("query") != nullptr) reason = NotHalf(file);
  if (!reason.has_value() && file.Find("query") != nullptr) {
    AttendRequest half = request;
    half.precision = file.Find("query")->dtype == Dtype::kBF16
                         ? Precision::kBFloat16
                         : Precision::kFloat16;
    absl::StatusOr<AttendResult> result = RunOnGpu(half, file);
    if (result.ok()) {
      result->summary = absl::StrCat("auto: cudnn, for ",
                                     DtypeName(file.Find("query")->dtype),
                                     " input\n", result->summary);
      return result;
    }
    reason = std::string(result.status().message());
  }
  AttendRequest cpu = request;
  cpu.backend = "reference";
  if (request.precision == Precision::kFloat32 && !request.options.weights) {
    cpu.backend = "simd";
    for (const char* name : {"query", "value"}) {
      const StoredTensor* tensor = file.Find(name);
      constexpr int64_t kMaxSimdWidth = 256;
      if (tensor != nullptr && !tensor->shape.empty() &&
          tensor->shape.back() > kMaxSimdWidth) {
        cpu.backend = "reference";
      }
    }
  }
  SOFTLOOKUP_ASSIGN_OR_RETURN(AttendResult result, RunOnCpu(cpu, file));
  result.summary =
      absl::StrCat("auto: ", cpu.backend,
                   " on the CPU, not cudnn: ", reason.value_or("no query"),
                   "\n", result.summary);
  return result;
}

}  // namespace

absl::StatusOr<AttendResult> RunAttend(const AttendRequest& request,
                                       const SafetensorsFile& file) {
  if (request.backend == "cudnn") return RunOnGpu(request, file);
  if (request.backend == "auto") return RunAuto(request, file);
  return RunOnCpu(request, file);
}

}  // namespace softlookup
