#include "attention/cudnn/cudnn_problem.h"

#include <bit>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/status.h"

namespace softlookup::cudnn {
namespace {

absl::Status Refuse(absl::string_view what, absl::string_view allowed) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, "; allowed with backend cudnn: ", allowed));
}

absl::Status CheckWidth(absl::string_view name, int64_t width) {
  if (width >= kWidthMultiple && width <= kMaxWidth &&
      width % kWidthMultiple == 0) {
    return absl::OkStatus();
  }
  return Refuse(absl::StrCat(name, " is ", width),
                absl::StrCat("multiples of ", kWidthMultiple, " from ",
                             kWidthMultiple, " to ", kMaxWidth));
}

// Rows are read sixteen bytes at a time, so each must start at a multiple.
absl::Status CheckStrides(absl::string_view name, const Shape& shape,
                          const Shape& strides) {
  const size_t last = shape.size() - 1;
  bool allowed = strides.size() == shape.size() && strides[last] == 1;
  for (size_t axis = 0; allowed && axis < last; ++axis) {
    allowed = shape[axis] == 1 || (strides[axis] >= kWidthMultiple &&
                                   strides[axis] % kWidthMultiple == 0);
  }
  if (allowed) return absl::OkStatus();
  return Refuse(
      absl::StrCat(name, " of shape ", ShapeString(shape), " has strides ",
                   ShapeString(strides)),
      absl::StrCat("a last stride of 1, the others positive multiples of ",
                   kWidthMultiple));
}

absl::Status CheckBias(const CudnnProblem& problem) {
  const AttentionSizes& sizes = problem.sizes;
  const Shape& bias = *problem.bias;
  const Shape scores = sizes.ScoreShape();
  const bool fits = bias.size() == 4 &&
                    (bias[0] == 1 || bias[0] == scores[0]) &&
                    (bias[1] == 1 || bias[1] == scores[1]) &&
                    bias[2] == scores[2] && bias[3] == scores[3];
  if (!fits) {
    return Refuse(absl::StrCat("bias has shape ", ShapeString(bias)),
                  absl::StrCat("[B or 1, H or 1, Tq, Tk] of [B, H, Tq, Tk] = ",
                               ShapeString(scores)));
  }
  if (problem.causal == CausalAlignment::kBottomRight) {
    return Refuse("causal is bottom_right and bias is given",
                  "a bias with causal none or top_left");
  }
  return absl::OkStatus();
}

absl::Status CheckBottomRight(const CudnnProblem& problem) {
  if (problem.key_lengths) {
    return Refuse(
        "causal is bottom_right and key_lengths is given, where cuDNN's "
        "diagonal ends at each entry's last real key and ours at Tk",
        "key_lengths with causal none or top_left");
  }
  if (problem.sizes.queries > problem.sizes.keys) {
    return Refuse(
        absl::StrCat("causal is bottom_right with Tq = ", problem.sizes.queries,
                     ", Tk = ", problem.sizes.keys),
        "bottom_right with Tq <= Tk");
  }
  return absl::OkStatus();
}

}  // namespace

Shape QueryShape(const AttentionSizes& sizes) {
  return {sizes.batch, sizes.query_heads, sizes.queries, sizes.width};
}

Shape KeyShape(const AttentionSizes& sizes) {
  return {sizes.batch, sizes.key_heads, sizes.keys, sizes.width};
}

Shape ValueShape(const AttentionSizes& sizes) {
  return {sizes.batch, sizes.key_heads, sizes.keys, sizes.value_width};
}

Shape OutputShape(const AttentionSizes& sizes) {
  return {sizes.batch, sizes.query_heads, sizes.queries, sizes.value_width};
}

CudnnProblem ContiguousProblem(const AttentionSizes& sizes, Dtype element,
                               bool backward) {
  CudnnProblem problem;
  problem.backward = backward;
  problem.element = element;
  problem.sizes = sizes;
  problem.scale = AttentionScale({}, sizes.width);
  problem.query_strides = ContiguousStrides(QueryShape(sizes));
  problem.key_strides = ContiguousStrides(KeyShape(sizes));
  problem.value_strides = ContiguousStrides(ValueShape(sizes));
  return problem;
}

std::string CudnnProblemKey(const CudnnProblem& problem) {
  const AttentionSizes& sizes = problem.sizes;
  // The scale to its bits: it is part of the plan.
  return absl::StrCat(
      problem.backward ? "backward" : "forward", " ",
      DtypeName(problem.element), " B", sizes.batch, " H", sizes.query_heads,
      " Hkv", sizes.key_heads, " Tq", sizes.queries, " Tk", sizes.keys, " D",
      sizes.width, " Dv", sizes.value_width, " ",
      CausalAlignmentName(problem.causal), problem.Padded() ? " padded" : "",
      problem.deterministic ? " deterministic" : "", " bias",
      problem.bias.has_value() ? ShapeString(*problem.bias) : " none",
      " scale ", absl::Hex(std::bit_cast<uint64_t>(problem.scale)), " ",
      ShapeString(problem.query_strides), ShapeString(problem.key_strides),
      ShapeString(problem.value_strides));
}

absl::Status CheckCudnnProblem(const CudnnProblem& problem) {
  const AttentionSizes& sizes = problem.sizes;
  if (problem.element != Dtype::kBF16 && problem.element != Dtype::kF16) {
    return Refuse(absl::StrCat("element type is ", DtypeName(problem.element)),
                  "BF16, F16");
  }
  SOFTLOOKUP_RETURN_IF_ERROR(CheckWidth("width D", sizes.width));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckWidth("value width Dv", sizes.value_width));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckStrides("query", QueryShape(sizes), problem.query_strides));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckStrides("key", KeyShape(sizes), problem.key_strides));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckStrides("value", ValueShape(sizes), problem.value_strides));
  // cuDNN takes a row's largest product before it scales it.
  if (!(problem.scale >= std::numeric_limits<float>::min() &&
        problem.scale <= std::numeric_limits<float>::max())) {
    return Refuse(absl::StrCat("scale is ", problem.scale),
                  "a positive number that float32 holds");
  }
  if (problem.bias.has_value()) SOFTLOOKUP_RETURN_IF_ERROR(CheckBias(problem));
  if (problem.causal == CausalAlignment::kBottomRight) {
    SOFTLOOKUP_RETURN_IF_ERROR(CheckBottomRight(problem));
  }
  if (problem.backward && sizes.queries == 1 && sizes.keys == 1) {
    return Refuse("output_gradient is given with Tq = Tk = 1",
                  "backward with Tq > 1 or Tk > 1");
  }
  return absl::OkStatus();
}

absl::StatusOr<CudnnProblem> DescribeCudnnProblem(
    const AttentionInputs<float>& inputs, const AttentionOptions& options,
    const CudnnRequest& request) {
  CudnnProblem problem;
  SOFTLOOKUP_ASSIGN_OR_RETURN(problem.sizes, CheckAttention(inputs, options));
  if (inputs.mask.allowed.has_value()) {
    return Refuse(
        absl::StrCat("mask of shape ",
                     ShapeString(inputs.mask.allowed->shape()), " is given"),
        "causal, key_lengths, bias");
  }
  if (!inputs.mask.key_starts.empty()) {
    return Refuse("key_starts is given", "causal, key_lengths, bias");
  }
  if (options.weights) {
    return Refuse("weights is true", "false: cuDNN never forms them");
  }
  problem.backward = request.backward;
  problem.element = request.element;
  problem.deterministic = request.deterministic && request.backward;
  problem.causal = inputs.mask.causal;
  problem.key_lengths = !inputs.mask.key_lengths.empty();
  if (inputs.bias.has_value()) problem.bias = inputs.bias->shape();
  problem.scale = AttentionScale(options, problem.sizes.width);
  problem.query_strides = inputs.query.layout().strides;
  problem.key_strides = inputs.key.layout().strides;
  problem.value_strides = inputs.value.layout().strides;
  SOFTLOOKUP_RETURN_IF_ERROR(CheckCudnnProblem(problem));
  return problem;
}

int64_t CudnnTensor::Bytes() const {
  int64_t last = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    last += (shape[axis] - 1) * strides[axis];
  }
  return (last + 1) * (DtypeBits(dtype) / 8);
}

std::vector<CudnnTensor> CudnnTensors(const CudnnProblem& problem) {
  const AttentionSizes& sizes = problem.sizes;
  const Shape query = QueryShape(sizes);
  const Shape key = KeyShape(sizes);
  const Shape value = ValueShape(sizes);
  const Shape output = OutputShape(sizes);
  const Shape row = {sizes.batch, sizes.query_heads, sizes.queries, 1};
  const Shape entry = {sizes.batch, 1, 1, 1};
  const bool backward = problem.backward;

  std::vector<CudnnTensor> tensors;
  const auto strided = [&](CudnnTensorId id, std::string name, Dtype dtype,
                           const Shape& shape, const Shape& strides,
                           bool written) {
    tensors.push_back({id, std::move(name), dtype, shape, strides, written});
  };
  const auto add = [&](CudnnTensorId id, std::string name, Dtype dtype,
                       const Shape& shape, bool written) {
    strided(id, std::move(name), dtype, shape, ContiguousStrides(shape),
            written);
  };
  const Dtype half = problem.element;
  strided(CudnnTensorId::kQuery, "query", half, query, problem.query_strides,
          false);
  strided(CudnnTensorId::kKey, "key", half, key, problem.key_strides, false);
  strided(CudnnTensorId::kValue, "value", half, value, problem.value_strides,
          false);
  add(CudnnTensorId::kOutput, "output", half, output, !backward);
  add(CudnnTensorId::kLogSumExp, "log_sum_exp", Dtype::kF32, row, !backward);
  if (problem.bias.has_value()) {
    add(CudnnTensorId::kBias, "bias", half, *problem.bias, false);
  }
  if (problem.Padded()) {
    add(CudnnTensorId::kQueryLengths, "query_lengths", Dtype::kI32, entry,
        false);
    add(CudnnTensorId::kKeyLengths, "key_lengths", Dtype::kI32, entry, false);
  }
  if (backward) {
    add(CudnnTensorId::kOutputGradient, "output_gradient", half, output, false);
    add(CudnnTensorId::kQueryGradient, "query_gradient", half, query, true);
    add(CudnnTensorId::kKeyGradient, "key_gradient", half, key, true);
    add(CudnnTensorId::kValueGradient, "value_gradient", half, value, true);
    if (problem.bias.has_value()) {
      add(CudnnTensorId::kBiasGradient, "bias_gradient", half, *problem.bias,
          true);
    }
  }
  return tensors;
}

}  // namespace softlookup::cudnn
