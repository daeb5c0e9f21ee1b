#include "attention/reference/multi_head.h"

#include <algorithm>
#include <complex>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "attention/reference/attention_reference.h"
#include "base/check.h"
#include "base/status.h"
#include "base/tensor/matrix_product.h"
#include "base/tensor/shape.h"

namespace softlookup {
namespace {

// Block h of `count` equal blocks along an axis.
template <typename T>
StridedView<const T> Block(const Tensor<T>& matrix, int axis, int64_t h,
                           int64_t count) {
  const int64_t size = matrix.dim(axis) / count;
  return matrix.view().Slice(axis, h * size, (h + 1) * size);
}

absl::Status CheckShape(absl::string_view name, const Shape& shape,
                        const Shape& expected, absl::string_view dimensions) {
  if (shape == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " has shape ", ShapeString(shape),
                   "; allowed: ", dimensions, " = ", ShapeString(expected)));
}

// A matrix [rows, heads * width] with a whole width of at least 1.
absl::Status CheckProjection(absl::string_view name, const Shape& shape,
                             int64_t rows, int64_t heads,
                             absl::string_view dimensions) {
  if (shape.size() == 2 && shape[0] == rows && shape[1] >= heads &&
      shape[1] % heads == 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      name, " has shape ", ShapeString(shape), "; allowed: ", dimensions,
      " with d = ", rows, " rows and ", heads, " heads of equal width"));
}

template <typename T>
absl::Status CheckMultiHead(const ConstView<T>& x,
                            const MultiHeadWeights<T>& weights) {
  bool valid = x.rank() == 3;
  for (const int64_t dimension : x.shape()) valid = valid && dimension >= 1;
  if (!valid) {
    return absl::InvalidArgumentError(
        absl::StrCat("x has shape ", ShapeString(x.shape()),
                     "; allowed: [B, T, d], each dimension at least 1"));
  }
  if (weights.heads < 1 || weights.key_heads < 1 ||
      weights.heads % weights.key_heads != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "heads is ", weights.heads, " and key_heads ", weights.key_heads,
        "; allowed: heads a multiple of key_heads, both at least 1"));
  }
  const int64_t d = x.dim(2);
  SOFTLOOKUP_RETURN_IF_ERROR(CheckProjection("W_Q", weights.query.shape(), d,
                                             weights.heads, "[d, H D]"));
  const int64_t width = weights.query.dim(1) / weights.heads;
  SOFTLOOKUP_RETURN_IF_ERROR(CheckShape("W_K", weights.key.shape(),
                                        {d, weights.key_heads * width},
                                        "[d, Hkv D]"));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckProjection("W_V", weights.value.shape(), d,
                                             weights.key_heads, "[d, Hkv Dv]"));
  const int64_t value_width = weights.value.dim(1) / weights.key_heads;
  return CheckShape("W_O", weights.output.shape(),
                    {weights.heads * value_width, d}, "[H Dv, d]");
}

// [B, T, width] -> [B T, width]; the tensor is contiguous.
template <typename T>
StridedView<const T> Rows(const Tensor<T>& tensor) {
  return tensor.view().MergeAxes(0, 2).value();
}

// The heads, [B, H, T, D], side by side: contiguous, [B, T, H D].
template <typename T>
Tensor<T> SideBySide(const Tensor<T>& heads) {
  MergedHeads<T> merged = MergeHeads<T>(heads.view());
  return merged.copy.has_value() ? *std::move(merged.copy) : Copy(merged.view);
}

// [B T, n] -> [B, T, n].
template <typename T>
Tensor<T> Positions(Tensor<T> rows, const Shape& like) {
  const int64_t columns = rows.dim(1);
  return Tensor<T>({like[0], like[1], columns}, std::move(rows.elements()));
}

// The projected inputs, contiguous [B, T, heads * width], and the attention
// problem that views them.
template <typename T>
struct Projected {
  Tensor<T> x, query, key, value;
  AttentionInputs<T> inputs;
};

template <typename T>
void Project(const ConstView<T>& x, const MultiHeadWeights<T>& weights,
             const AttentionMask& mask, Projected<T>& projected) {
  projected.x = Copy(x);
  const auto project = [&](const Tensor<T>& weight) {
    return Positions(MatrixProduct<T>(Rows(projected.x), weight.view()),
                     x.shape());
  };
  projected.query = project(weights.query);
  projected.key = project(weights.key);
  projected.value = project(weights.value);
  const Projected<T>& read = projected;
  projected.inputs.query = SplitHeads(read.query.view(), weights.heads);
  projected.inputs.key = SplitHeads(read.key.view(), weights.key_heads);
  projected.inputs.value = SplitHeads(read.value.view(), weights.key_heads);
  projected.inputs.mask = mask;
}

template <typename T>
void Add(Tensor<T>& sum, const Tensor<T>& term) {
  for (int64_t n = 0; n < sum.size(); ++n) sum[n] += term[n];
}

}  // namespace

template <typename T>
StridedView<const T> MultiHeadWeights<T>::QueryBlock(int64_t h) const {
  return Block(query, 1, h, heads);
}

template <typename T>
StridedView<const T> MultiHeadWeights<T>::KeyBlock(int64_t h) const {
  return Block(key, 1, KeyHead(h), key_heads);
}

template <typename T>
StridedView<const T> MultiHeadWeights<T>::ValueBlock(int64_t h) const {
  return Block(value, 1, KeyHead(h), key_heads);
}

template <typename T>
StridedView<const T> MultiHeadWeights<T>::OutputBlock(int64_t h) const {
  return Block(output, 0, h, heads);
}

template <typename T>
MergedHeads<T> MergeHeads(const StridedView<const T>& heads) {
  const StridedView<const T> by_position = heads.Transpose(1, 2);
  MergedHeads<T> merged;
  if (absl::StatusOr<StridedView<const T>> view = by_position.MergeAxes(2, 2);
      view.ok()) {
    merged.view = *std::move(view);
    return merged;
  }
  merged.copy = Tensor<T>({by_position.dim(0), by_position.dim(1),
                           by_position.dim(2) * by_position.dim(3)},
                          std::move(Copy(by_position).elements()));
  merged.view = merged.copy->view();
  return merged;
}

template <typename T>
absl::StatusOr<MultiHeadOutputs<T>> MultiHeadForward(
    const ConstView<T>& x, const MultiHeadWeights<T>& weights,
    const MultiHeadOptions& options) {
  SOFTLOOKUP_RETURN_IF_ERROR(CheckMultiHead(x, weights));
  // q = x W_Q, k = x W_K, v = x W_V
  Projected<T> projected;
  Project(x, weights, options.mask, projected);
  // heads = attention(q, k, v)
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      AttentionOutputs<T> attention,
      reference::AttentionForward(projected.inputs, options.attention));
  // output = merged W_O
  const Tensor<T> merged = SideBySide(attention.output);
  MultiHeadOutputs<T> outputs;
  outputs.output = Positions(
      MatrixProduct<T>(Rows(merged), weights.output.view()), x.shape());
  outputs.heads = std::move(attention.output);
  outputs.weights = std::move(attention.weights);
  return outputs;
}

template <typename T>
absl::StatusOr<MultiHeadGradients<T>> MultiHeadBackward(
    const ConstView<T>& x, const MultiHeadWeights<T>& weights,
    const MultiHeadOptions& options, const ConstView<T>& output_gradient) {
  SOFTLOOKUP_RETURN_IF_ERROR(CheckMultiHead(x, weights));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckShape("output_gradient",
                                        output_gradient.shape(), x.shape(),
                                        "the output's, [B, T, d]"));
  Projected<T> projected;
  Project(x, weights, options.mask, projected);
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const AttentionOutputs<T> attention,
      reference::AttentionForward(projected.inputs, options.attention));
  const Tensor<T> merged = SideBySide(attention.output);
  MultiHeadGradients<T> gradients;
  // output = merged W_O
  const Tensor<T> d_output = Copy(output_gradient);
  const Tensor<T> d_merged = Positions(
      MatrixProduct<T>(Rows(d_output), weights.output.view().Transpose(0, 1)),
      x.shape());
  gradients.output =
      MatrixProduct<T>(Rows(merged).Transpose(0, 1), Rows(d_output));
  // heads = attention(q, k, v)
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const AttentionGradients<T> d_attention,
      reference::AttentionBackward(projected.inputs, options.attention,
                                   SplitHeads(d_merged.view(), weights.heads)));
  // q = x W_Q, k = x W_K, v = x W_V
  gradients.x = Tensor<T>(x.shape());
  const auto project = [&](const Tensor<T>& d_heads, const Tensor<T>& weight) {
    const Tensor<T> d_projected = SideBySide(d_heads);
    Add(gradients.x,
        MatrixProduct<T>(Rows(d_projected), weight.view().Transpose(0, 1)));
    return MatrixProduct<T>(Rows(projected.x).Transpose(0, 1),
                            Rows(d_projected));
  };
  gradients.query = project(d_attention.query, weights.query);
  gradients.key = project(d_attention.key, weights.key);
  gradients.value = project(d_attention.value, weights.value);
  return gradients;
}

template <typename T>
Tensor<T> HeadWrites(const ConstView<T>& heads,
                     const MultiHeadWeights<T>& weights) {
  SOFTLOOKUP_CHECK(heads.rank() == 4 && heads.dim(1) == weights.heads,
                   "[B, H, T, Dv]");
  const int64_t d = weights.output.dim(1);
  Tensor<T> writes({heads.dim(0), heads.dim(1), heads.dim(2), d});
  for (int64_t b = 0; b < heads.dim(0); ++b) {
    for (int64_t h = 0; h < heads.dim(1); ++h) {
      const StridedView<const T> head = {
          heads.data() + b * heads.stride(0) + h * heads.stride(1),
          {{heads.dim(2), heads.dim(3)}, {heads.stride(2), heads.stride(3)}}};
      const Tensor<T> write = MatrixProduct<T>(head, weights.OutputBlock(h));
      std::copy(write.elements().begin(), write.elements().end(),
                &writes(b, h, 0, 0));
    }
  }
  return writes;
}

#define SOFTLOOKUP_INSTANTIATE(T)                                            \
  template struct MultiHeadWeights<T>;                                       \
  template MergedHeads<T> MergeHeads(const StridedView<const T>& heads);     \
  template absl::StatusOr<MultiHeadOutputs<T>> MultiHeadForward(             \
      const ConstView<T>& x, const MultiHeadWeights<T>& weights,             \
      const MultiHeadOptions& options);                                      \
  template absl::StatusOr<MultiHeadGradients<T>> MultiHeadBackward(          \
      const ConstView<T>& x, const MultiHeadWeights<T>& weights,             \
      const MultiHeadOptions& options, const ConstView<T>& output_gradient); \
  template Tensor<T> HeadWrites(const ConstView<T>& heads,                   \
                                const MultiHeadWeights<T>& weights)
SOFTLOOKUP_INSTANTIATE(float);
SOFTLOOKUP_INSTANTIATE(double);
SOFTLOOKUP_INSTANTIATE(std::complex<double>);
#undef SOFTLOOKUP_INSTANTIATE

}  // namespace softlookup
