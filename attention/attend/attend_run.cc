#include "attention/attend/attend_run.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "attention/attend/attend_input.h"
#include "attention/attention.h"
#include "attention/cudnn/gpu_attention.h"
#include "attention/kernels/attention_kernels.h"
#include "attention/kernels/kernel_options.h"
#include "attention/reference/attention_reference.h"
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

// What ran, for the summary and the file.
struct Ran {
  Backend backend;
  std::string details;  // " (avx2, threads: 2)", or nothing
  Precision precision;
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
      "\nbackend: ", BackendName(ran.backend), ran.details,
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

// Forward, and backward where there is an output gradient, by functions of the
// checked inputs; and the results as `ran` describes them.
template <typename T, typename Forward, typename Backward>
absl::StatusOr<AttendResult> Compute(const AttendRequest& request,
                                     const AttendInput<T>& input,
                                     const Ran& ran, const Forward& forward,
                                     const Backward& backward) {
  const AttentionInputs<T> inputs = input.inputs();
  SOFTLOOKUP_ASSIGN_OR_RETURN(AttentionOutputs<T> outputs, forward(inputs));
  AttendResult result;
  std::vector<StoredTensor>& tensors = result.file.tensors;
  const auto store = [&](const std::string& name, Tensor<T> tensor) {
    tensors.push_back(Store(name, std::move(tensor), ran.precision));
  };
  std::optional<AttentionGradients<T>> gradients;
  if (input.output_gradient().has_value()) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        gradients, backward(inputs, outputs, input.output_gradient()->view()));
  }
  store("output", std::move(outputs.output));
  tensors.push_back(StoreTensor("log_sum_exp", std::move(outputs.log_sum_exp)));
  if (outputs.weights.has_value()) {
    store("weights", *std::move(outputs.weights));
  }
  if (gradients.has_value()) {
    store("query_gradient", std::move(gradients->query));
    store("key_gradient", std::move(gradients->key));
    store("value_gradient", std::move(gradients->value));
    if (gradients->bias.has_value()) {
      store("bias_gradient", *std::move(gradients->bias));
    }
  }
  result.file.metadata = {{"backend", BackendName(ran.backend)},
                          {"precision", PrecisionName(ran.precision)},
                          {"program", "softlookup attend"}};
  result.summary = Summary(request, inputs, input.sizes(), ran);
  return result;
}

template <typename T>
absl::StatusOr<AttendResult> RunReference(const AttendRequest& request,
                                          const SafetensorsFile& file) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const AttendInput<T> input,
      AttendInput<T>::Load(file, request, [](const AttentionSizes& sizes) {
        return reference::AttentionScratchBytes(sizes, sizeof(T));
      }));
  return Compute(
      request, input, {Backend::kReference, "", request.precision},
      [&](const auto& inputs) {
        return reference::AttentionForward(inputs, request.options);
      },
      [&](const auto& inputs, const auto&, const auto& output_gradient) {
        return reference::AttentionBackward<T>(inputs, request.options,
                                               output_gradient);
      });
}

absl::StatusOr<AttendResult> RunSimd(const AttendRequest& request,
                                     const SafetensorsFile& file) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const AttendInput<float> input,
      AttendInput<float>::Load(file, request, [&](const AttentionSizes& sizes) {
        return kernels::AttentionScratchBytes(
            sizes, file.Find("output_gradient") != nullptr, request.threads);
      }));
  ThreadPool pool(request.threads);
  const kernels::KernelOptions execution = {request.instruction_set, &pool};
  return Compute(
      request, input,
      {Backend::kSimd,
       absl::StrCat(" (", kernels::InstructionSetName(request.instruction_set),
                    ", threads: ", pool.threads(), ")"),
       Precision::kFloat32},
      [&](const auto& inputs) {
        return kernels::AttentionForward(inputs, request.options, execution);
      },
      [&](const auto& inputs, const auto& outputs,
          const auto& output_gradient) {
        return kernels::AttentionBackward(inputs, request.options, outputs,
                                          output_gradient, execution);
      });
}

// In the request's precision, which is half.
absl::StatusOr<AttendResult> RunCudnn(const AttendRequest& request,
                                      const SafetensorsFile& file) {
  const GpuAttentionOptions options = {
      .element = request.precision == Precision::kBFloat16 ? Dtype::kBF16
                                                           : Dtype::kF16,
      .deterministic = request.deterministic};
  for (const StoredTensor* tensor : NumberTensors(file)) {
    if (tensor->dtype == options.element || tensor->dtype == Dtype::kF32) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        tensor->name, " has dtype ", DtypeName(tensor->dtype),
        "; allowed with --backend=cudnn --precision=",
        PrecisionName(request.precision), ": ", DtypeName(options.element),
        ", and F32, which is rounded"));
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
  // Before the GPU is looked for: this message is of use anywhere.
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckGpuAttention(input.inputs(), request.options, options.element,
                        input.output_gradient().has_value()));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const std::unique_ptr<GpuAttention> gpu,
                              OpenGpuAttention());
  return Compute(
      request, input,
      {Backend::kCudnn,
       absl::StrCat(" (", gpu->device(),
                    request.deterministic ? ", deterministic)" : ")"),
       request.precision},
      [&](const auto& inputs) {
        return gpu->Forward(inputs, request.options, options);
      },
      [&](const auto& inputs, const auto& outputs,
          const auto& output_gradient) {
        return gpu->Backward(inputs, request.options, outputs, output_gradient,
                             options);
      });
}

absl::StatusOr<AttendResult> RunOnCpu(const AttendRequest& request,
                                      const SafetensorsFile& file) {
  if (request.backend == Backend::kSimd) return RunSimd(request, file);
  return request.precision == Precision::kFloat32
             ? RunReference<float>(request, file)
             : RunReference<double>(request, file);
}

// Why the input is not one that "auto" gives to a GPU, or nothing: float32 and
// more is never lowered.
std::optional<std::string> NotHalf(const SafetensorsFile& file) {
  const std::vector<const StoredTensor*> numbers = NumberTensors(file);
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
  std::optional<std::string> reason = "no query";
  const StoredTensor* query = file.Find("query");
  if (query != nullptr) reason = NotHalf(file);
  if (!reason.has_value()) {
    AttendRequest half = request;
    half.precision = query->dtype == Dtype::kBF16 ? Precision::kBFloat16
                                                  : Precision::kFloat16;
    absl::StatusOr<AttendResult> result = RunCudnn(half, file);
    if (result.ok()) {
      result->summary =
          absl::StrCat("auto: cudnn, for ", DtypeName(query->dtype), " input\n",
                       result->summary);
      return result;
    }
    reason = std::string(result.status().message());
  }
  AttendRequest cpu = request;
  cpu.backend =
      request.precision == Precision::kFloat32 && !request.options.weights
          ? Backend::kSimd
          : Backend::kReference;
  for (const char* name : {"query", "value"}) {
    const StoredTensor* tensor = file.Find(name);
    if (tensor != nullptr && !tensor->shape.empty() &&
        tensor->shape.back() > kernels::MaxAttentionWidth()) {
      cpu.backend = Backend::kReference;
    }
  }
  SOFTLOOKUP_ASSIGN_OR_RETURN(AttendResult result, RunOnCpu(cpu, file));
  result.summary =
      absl::StrCat("auto: ", BackendName(cpu.backend),
                   " on the CPU, not cudnn: ", *reason, "\n", result.summary);
  return result;
}

}  // namespace

absl::StatusOr<AttendResult> RunAttend(const AttendRequest& request,
                                       const SafetensorsFile& file) {
  if (request.backend == Backend::kCudnn) return RunCudnn(request, file);
  if (request.backend == Backend::kAuto) return RunAuto(request, file);
  return RunOnCpu(request, file);
}

}  // namespace softlookup
