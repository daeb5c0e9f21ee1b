#include "attention/attend_run.h"

#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attention/attend_input.h"
#include "attention/attention.h"
#include "attention/attention_backend.h"
#include "attention/kernels/instruction_set.h"
#include "attention/kernels/kernel_options.h"
#include "base/shape.h"
#include "base/status.h"
#include "base/stored_tensor.h"
#include "base/strided_view.h"
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

template <typename T>
std::string Summary(const AttendRequest& request,
                    const AttentionInputs<T>& inputs,
                    const AttentionSizes& sizes, int threads) {
  const bool default_scale = !request.options.scale.has_value();
  return absl::StrCat(
      "sizes: B ", sizes.batch, ", H ", sizes.query_heads, ", Hkv ",
      sizes.key_heads, ", Tq ", sizes.queries, ", Tk ", sizes.keys, ", D ",
      sizes.width, ", Dv ", sizes.value_width,
      "\nscale: ", AttentionScale(request.options, sizes.width),
      default_scale ? " (1 / sqrt(D))" : "",
      "\nmasks and bias: ", Restrictions(inputs),
      "\nbackend: ", request.backend, RunDescription<T>(request, threads),
      ", precision: ", PrecisionName(request.precision),
      "\nfully masked rows: ", CountFullyMaskedRows(inputs, sizes), " of ",
      sizes.batch * sizes.query_heads * sizes.queries,
      " (rule: ", FullyMaskedName(request.options.fully_masked), ")\n");
}

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
  AttendResult result;
  std::vector<StoredTensor>& tensors = result.file.tensors;
  SOFTLOOKUP_ASSIGN_OR_RETURN(AttentionOutputs<T> outputs,
                              backend->forward(inputs, request.options, run));
  std::optional<AttentionGradients<T>> computed;
  if (input.output_gradient().has_value()) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        computed, backend->backward(inputs, request.options, outputs,
                                    input.output_gradient()->view(), run));
  }
  tensors.push_back(StoreTensor("output", std::move(outputs.output)));
  tensors.push_back(StoreTensor("log_sum_exp", std::move(outputs.log_sum_exp)));
  if (outputs.weights.has_value()) {
    tensors.push_back(StoreTensor("weights", *std::move(outputs.weights)));
  }
  if (computed.has_value()) {
    AttentionGradients<T>& gradients = *computed;
    tensors.push_back(
        StoreTensor("query_gradient", std::move(gradients.query)));
    tensors.push_back(StoreTensor("key_gradient", std::move(gradients.key)));
    tensors.push_back(
        StoreTensor("value_gradient", std::move(gradients.value)));
    if (gradients.bias.has_value()) {
      tensors.push_back(
          StoreTensor("bias_gradient", *std::move(gradients.bias)));
    }
  }
  result.file.metadata = {{"backend", request.backend},
                          {"precision", PrecisionName(request.precision)},
                          {"program", "softlookup attend"}};
  result.summary = Summary(request, inputs, input.sizes(), pool.threads());
  return result;
}

}  // namespace

absl::StatusOr<AttendResult> RunAttend(const AttendRequest& request,
                                       const SafetensorsFile& file) {
  return request.precision == Precision::kFloat32 ? Run<float>(request, file)
                                                  : Run<double>(request, file);
}

}  // namespace softlookup
