#include "attention/cudnn/cudnn_tensors.h"

#include <utility>

namespace softlookup::cudnn {

int64_t CudnnTensor::Bytes() const {
  int64_t last = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    last += (shape[axis] - 1) * strides[axis];
  }
  return (last + 1) * (DtypeBits(dtype) / 8);
}

std::vector<CudnnTensor> CudnnTensors(const CudnnProblem& problem) {
  const AttentionSizes& sizes = problem.sizes;
  const Shape query = {sizes.batch, sizes.query_heads, sizes.queries,
                       sizes.width};
  const Shape key = {sizes.batch, sizes.key_heads, sizes.keys, sizes.width};
  const Shape value = {sizes.batch, sizes.key_heads, sizes.keys,
                       sizes.value_width};
  const Shape output = {sizes.batch, sizes.query_heads, sizes.queries,
                        sizes.value_width};
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

}  // namespace softlookup::cudnn
