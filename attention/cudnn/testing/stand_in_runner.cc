#include "attention/cudnn/testing/stand_in_runner.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "attention/attention.h"
#include "attention/cudnn/half_tensor.h"
#include "attention/cudnn/visibility.h"
#include "attention/reference/attention_reference.h"
#include "base/status.h"
#include "base/tensor/shape.h"
#include "base/tensor/strided_view.h"
#include "base/tensor/tensor.h"

namespace softlookup::cudnn {

absl::Status StandInRunner::Run(
    const CudnnProblem& problem,
    const std::map<CudnnTensorId, HostBytes>& tensors) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  ++runs;
  last = problem;
  std::map<CudnnTensorId, CudnnTensor> described;
  for (const CudnnTensor& tensor : CudnnTensors(problem)) {
    const auto found = tensors.find(tensor.id);
    if (found == tensors.end() || found->second.bytes != tensor.Bytes() ||
        (tensor.written ? found->second.output == nullptr
                        : found->second.input == nullptr)) {
      return absl::InternalError("wrong bytes for " + tensor.name);
    }
    described[tensor.id] = tensor;
  }
  if (described.size() != tensors.size()) {
    return absl::InternalError("a tensor that the problem does not have");
  }
  const auto read = [&](CudnnTensorId id) {
    const CudnnTensor& tensor = described.at(id);
    const auto* bits = static_cast<const uint16_t*>(tensors.at(id).input);
    const StridedView<const uint16_t> view(
        bits, StridedLayout{tensor.shape, tensor.strides});
    Tensor<double> values(tensor.shape);
    ForEachElement(
        [&](double& to, uint16_t from) {
          to = HalfToFloat(from, problem.element);
        },
        values.view(), view);
    return values;
  };
  const auto write = [&](CudnnTensorId id, const Tensor<double>& values,
                         const Tensor<uint8_t>& defined) {
    auto* bits = static_cast<uint16_t*>(tensors.at(id).output);
    const int64_t width = values.size() / defined.size();
    for (int64_t n = 0; n < values.size(); ++n) {
      bits[n] = FloatToHalf(
          defined[n / width] != 0 ? static_cast<float>(values[n]) : kNaN,
          problem.element);
    }
  };
  const Tensor<double> query = read(CudnnTensorId::kQuery);
  const Tensor<double> key = read(CudnnTensorId::kKey);
  const Tensor<double> value = read(CudnnTensorId::kValue);
  AttentionInputs<double> inputs{
      query.view(), key.view(), value.view(), std::nullopt, {}};
  AttentionInputs<float> shapes;
  Tensor<double> bias;
  Tensor<float> float_bias;
  if (problem.bias.has_value()) {
    bias = read(CudnnTensorId::kBias);
    inputs.bias = std::as_const(bias).view();
    float_bias = Tensor<float>(
        bias.shape(), {bias.elements().begin(), bias.elements().end()});
    shapes.bias = std::as_const(float_bias).view();
  }
  std::vector<int64_t> lengths;
  if (problem.Padded()) {
    const auto* given = static_cast<const int32_t*>(
        tensors.at(CudnnTensorId::kKeyLengths).input);
    lengths.assign(given, given + problem.sizes.batch);
    const auto* queries = static_cast<const int32_t*>(
        tensors.at(CudnnTensorId::kQueryLengths).input);
    for (int64_t b = 0; b < problem.sizes.batch; ++b) {
      if (queries[b] != problem.sizes.queries) {
        return absl::InternalError("not every query");
      }
    }
  }
  inputs.mask.key_lengths = lengths;
  inputs.mask.causal = problem.causal;
  shapes.mask = inputs.mask;
  const Visibility visible = FindVisibility(shapes, problem.sizes);
  const AttentionOptions options = {.scale = problem.scale};
  if (!problem.backward) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        const AttentionOutputs<double> outputs,
        reference::AttentionForward<double>(inputs, options));
    write(CudnnTensorId::kOutput, outputs.output, visible.row);
    auto* log_sum_exp =
        static_cast<float*>(tensors.at(CudnnTensorId::kLogSumExp).output);
    for (int64_t n = 0; n < outputs.log_sum_exp.size(); ++n) {
      log_sum_exp[n] = visible.row[n] != 0
                           ? static_cast<float>(outputs.log_sum_exp[n])
                           : kNaN;
    }
    return absl::OkStatus();
  }
  // A log-sum-exp of -inf or a gradient would reach other rows.
  const auto* log_sum_exp =
      static_cast<const float*>(tensors.at(CudnnTensorId::kLogSumExp).input);
  const Tensor<double> gradient = read(CudnnTensorId::kOutputGradient);
  const Tensor<double> output = read(CudnnTensorId::kOutput);
  for (int64_t n = 0; n < visible.row.size(); ++n) {
    if (!std::isfinite(log_sum_exp[n])) {
      return absl::InternalError("a log-sum-exp that is not finite");
    }
    if (visible.row[n] != 0) continue;
    for (int64_t k = 0; k < problem.sizes.value_width; ++k) {
      const int64_t at = n * problem.sizes.value_width + k;
      if (gradient[at] != 0 || output[at] != 0) {
        return absl::InternalError("a gradient of a row that sees nothing");
      }
    }
  }
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const AttentionGradients<double> gradients,
      reference::AttentionBackward<double>(inputs, options, gradient.view()));
  write(CudnnTensorId::kQueryGradient, gradients.query, visible.row);
  write(CudnnTensorId::kKeyGradient, gradients.key, visible.key);
  write(CudnnTensorId::kValueGradient, gradients.value, visible.key);
  if (problem.bias.has_value()) {
    write(CudnnTensorId::kBiasGradient, *gradients.bias, *visible.bias);
  }
  return absl::OkStatus();
}

}  // namespace softlookup::cudnn
