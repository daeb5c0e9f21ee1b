#include "attention/cudnn/cudnn_attention.h"

#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attention/cudnn/half_tensor.h"
#include "attention/cudnn/visibility.h"
#include "base/status.h"
#include "base/tensor/shape.h"
#include "base/tensor/tensor.h"

namespace softlookup::cudnn {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <typename T>
HostBytes Input(const std::vector<T>& elements) {
  return {.input = elements.data(),
          .bytes = static_cast<int64_t>(elements.size() * sizeof(T))};
}

template <typename T>
HostBytes Output(std::vector<T>& elements) {
  return {.output = elements.data(),
          .bytes = static_cast<int64_t>(elements.size() * sizeof(T))};
}

// Keys or values with 0 beyond the key lengths: what is stored there may be
// anything, and cuDNN multiplies it by a weight of 0.
StridedView<const float> WithoutPadding(const StridedView<const float>& view,
                                        absl::Span<const int64_t> lengths,
                                        std::vector<float>& memory) {
  if (lengths.empty()) return view;
  int64_t last = 0;
  for (int axis = 0; axis < view.rank(); ++axis) {
    last += (view.dim(axis) - 1) * view.stride(axis);
  }
  memory.assign(last + 1, 0);
  const StridedView<float> copy(memory.data(), view.layout());
  for (int64_t b = 0; b < view.dim(0); ++b) {
    ForEachElement([](float& to, const float& from) { to = from; },
                   copy.Slice(0, b, b + 1).Slice(2, 0, lengths[b]),
                   view.Slice(0, b, b + 1).Slice(2, 0, lengths[b]));
  }
  return copy;
}

// What both passes are given, as cuDNN takes it.
struct Prepared {
  CudnnProblem problem;
  Visibility visible;
  std::vector<uint16_t> query;
  std::vector<uint16_t> key;
  std::vector<uint16_t> value;
  std::vector<uint16_t> bias;
  std::vector<int32_t> query_lengths;
  std::vector<int32_t> key_lengths;

  std::map<CudnnTensorId, HostBytes> Tensors() const {
    std::map<CudnnTensorId, HostBytes> tensors = {
        {CudnnTensorId::kQuery, Input(query)},
        {CudnnTensorId::kKey, Input(key)},
        {CudnnTensorId::kValue, Input(value)},
    };
    if (problem.bias.has_value()) {
      tensors[CudnnTensorId::kBias] = Input(bias);
    }
    if (problem.Padded()) {
      tensors[CudnnTensorId::kQueryLengths] = Input(query_lengths);
      tensors[CudnnTensorId::kKeyLengths] = Input(key_lengths);
    }
    return tensors;
  }
};

absl::Status CheckRows(const Visibility& visible, const AttentionSizes& sizes) {
  const auto [heads, queries] = std::pair(sizes.query_heads, sizes.queries);
  for (int64_t n = 0; n < visible.row.size(); ++n) {
    if (visible.row[n] != 0) continue;
    return FullyMaskedRowError(n / queries / heads, n / queries % heads,
                               n % queries);
  }
  return absl::OkStatus();
}

absl::StatusOr<Prepared> Prepare(const AttentionInputs<float>& inputs,
                                 const AttentionOptions& options,
                                 const CudnnRequest& request) {
  Prepared prepared;
  SOFTLOOKUP_ASSIGN_OR_RETURN(prepared.problem,
                              DescribeCudnnProblem(inputs, options, request));
  const AttentionSizes& sizes = prepared.problem.sizes;
  prepared.visible = FindVisibility(inputs, sizes);
  if (options.fully_masked == FullyMasked::kError) {
    SOFTLOOKUP_RETURN_IF_ERROR(CheckRows(prepared.visible, sizes));
  }
  const absl::Span<const int64_t> lengths = inputs.mask.key_lengths;
  std::vector<float> memory;
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      prepared.query, ToHalf("query", inputs.query, request.element, false));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      prepared.key, ToHalf("key", WithoutPadding(inputs.key, lengths, memory),
                           request.element, false));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      prepared.value,
      ToHalf("value", WithoutPadding(inputs.value, lengths, memory),
             request.element, false));
  if (inputs.bias.has_value()) {
    // Contiguous, and 0 where nothing sees it.
    Tensor<float> bias = Copy(*inputs.bias);
    for (int64_t n = 0; n < bias.size(); ++n) {
      if ((*prepared.visible.bias)[n] == 0 && bias[n] != -kInfinity) {
        bias[n] = 0;
      }
    }
    const Tensor<float>& cleared = bias;
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        prepared.bias, ToHalf("bias", cleared.view(), request.element, true));
  }
  prepared.query_lengths.assign(sizes.batch,
                                static_cast<int32_t>(sizes.queries));
  prepared.key_lengths.assign(sizes.batch, static_cast<int32_t>(sizes.keys));
  for (size_t b = 0; b < lengths.size(); ++b) {
    prepared.key_lengths[b] = static_cast<int32_t>(lengths[b]);
  }
  return prepared;
}

// Sets the rows of `tensor`, [..., width], that `kept` has as 0.
void FillRows(Tensor<float>& tensor, const Tensor<uint8_t>& kept, float value) {
  const int64_t width = tensor.size() / kept.size();
  for (int64_t row = 0; row < kept.size(); ++row) {
    if (kept[row] != 0) continue;
    for (int64_t k = 0; k < width; ++k) tensor[row * width + k] = value;
  }
}

absl::Status CheckOutputs(const AttentionOutputs<float>& outputs,
                          const AttentionSizes& sizes) {
  const Shape output = OutputShape(sizes);
  const Shape log_sum_exp = {sizes.batch, sizes.query_heads, sizes.queries};
  const auto check = [](const char* name, const Shape& given,
                        const char* allowed, const Shape& shape) {
    if (given == shape) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("outputs.", name, " has shape ", ShapeString(given),
                     "; allowed: ", allowed, " = ", ShapeString(shape)));
  };
  SOFTLOOKUP_RETURN_IF_ERROR(
      check("output", outputs.output.shape(), "[B, H, Tq, Dv]", output));
  return check("log_sum_exp", outputs.log_sum_exp.shape(), "[B, H, Tq]",
               log_sum_exp);
}

int64_t Count(const Shape& shape) { return NumElements(shape).value(); }

}  // namespace

absl::StatusOr<AttentionOutputs<float>> CudnnAttention::Forward(
    const AttentionInputs<float>& inputs,
    const AttentionOptions& options) const {
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const Prepared prepared,
      Prepare(inputs, options, {.element = options_.element}));
  const AttentionSizes& sizes = prepared.problem.sizes;
  const Shape output_shape = OutputShape(sizes);
  std::vector<uint16_t> output(Count(output_shape));
  Tensor<float> log_sum_exp({sizes.batch, sizes.query_heads, sizes.queries});
  std::map<CudnnTensorId, HostBytes> tensors = prepared.Tensors();
  tensors[CudnnTensorId::kOutput] = Output(output);
  tensors[CudnnTensorId::kLogSumExp] = Output(log_sum_exp.elements());
  SOFTLOOKUP_RETURN_IF_ERROR(runner_->Run(prepared.problem, tensors));

  AttentionOutputs<float> outputs;
  outputs.output = FromHalf(output, options_.element, output_shape);
  outputs.log_sum_exp = std::move(log_sum_exp);
  FillRows(outputs.output, prepared.visible.row,
           options.fully_masked == FullyMasked::kNaN
               ? std::numeric_limits<float>::quiet_NaN()
               : 0);
  FillRows(outputs.log_sum_exp, prepared.visible.row, -kInfinity);
  return outputs;
}

absl::StatusOr<AttentionGradients<float>> CudnnAttention::Backward(
    const AttentionInputs<float>& inputs, const AttentionOptions& options,
    const AttentionOutputs<float>& outputs,
    const StridedView<const float>& output_gradient) const {
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const AttentionSizes sizes,
      CheckAttentionBackward(inputs, options, output_gradient));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckOutputs(outputs, sizes));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const Prepared prepared,
      Prepare(inputs, options,
              {.element = options_.element,
               .backward = true,
               .deterministic = options_.deterministic}));
  const Visibility& visible = prepared.visible;

  // A row that sees nothing has a log-sum-exp of -inf, and exp(S + inf) would
  // reach the keys' gradients.
  Tensor<float> forward_output = outputs.output;
  Tensor<float> log_sum_exp = outputs.log_sum_exp;
  Tensor<float> gradient = Copy(output_gradient);
  FillRows(forward_output, visible.row, 0);
  FillRows(log_sum_exp, visible.row, 0);
  FillRows(gradient, visible.row, 0);
  const Dtype element = options_.element;
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const std::vector<uint16_t> output_bits,
      ToHalf("outputs.output", std::as_const(forward_output).view(), element,
             false));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const std::vector<uint16_t> gradient_bits,
      ToHalf("output_gradient", std::as_const(gradient).view(), element,
             false));

  std::vector<uint16_t> query(Count(inputs.query.shape()));
  std::vector<uint16_t> key(Count(inputs.key.shape()));
  std::vector<uint16_t> value(Count(inputs.value.shape()));
  std::vector<uint16_t> bias(
      inputs.bias.has_value() ? Count(inputs.bias->shape()) : 0);
  std::map<CudnnTensorId, HostBytes> tensors = prepared.Tensors();
  tensors[CudnnTensorId::kOutput] = Input(output_bits);
  tensors[CudnnTensorId::kLogSumExp] = Input(log_sum_exp.elements());
  tensors[CudnnTensorId::kOutputGradient] = Input(gradient_bits);
  tensors[CudnnTensorId::kQueryGradient] = Output(query);
  tensors[CudnnTensorId::kKeyGradient] = Output(key);
  tensors[CudnnTensorId::kValueGradient] = Output(value);
  if (inputs.bias.has_value()) {
    tensors[CudnnTensorId::kBiasGradient] = Output(bias);
  }
  SOFTLOOKUP_RETURN_IF_ERROR(runner_->Run(prepared.problem, tensors));

  AttentionGradients<float> gradients;
  gradients.query = FromHalf(query, element, inputs.query.shape());
  gradients.key = FromHalf(key, element, inputs.key.shape());
  gradients.value = FromHalf(value, element, inputs.value.shape());
  FillRows(gradients.query, visible.row, 0);
  FillRows(gradients.key, visible.key, 0);
  FillRows(gradients.value, visible.key, 0);
  if (inputs.bias.has_value()) {
    gradients.bias = FromHalf(bias, element, inputs.bias->shape());
    FillRows(*gradients.bias, *visible.bias, 0);
  }
  return gradients;
}

}  // namespace softlookup::cudnn
