#include "attention/textbook/single_head.h"

#include <complex>
#include <utility>

#include "attention/attention.h"
#include "attention/reference/attention_reference.h"
#include "base/check.h"
#include "base/tensor/strided_view.h"

namespace softlookup {
namespace {

// [T, D] seen as [1, 1, T, D].
template <typename T>
StridedView<const T> AsHead(const Tensor<T>& matrix) {
  SOFTLOOKUP_CHECK(matrix.shape().size() == 2, "a matrix");
  return matrix.view().SplitAxis(0, {1, 1, matrix.dim(0)});
}

// [1, 1, T, D] as [T, D].
template <typename T>
Tensor<T> AsMatrix(Tensor<T> head) {
  return Tensor<T>({head.dim(2), head.dim(3)}, std::move(head.elements()));
}

template <typename T>
AttentionInputs<T> Inputs(const Tensor<T>& query, const Tensor<T>& key,
                          const Tensor<T>& value, const HeadOptions& options) {
  AttentionInputs<T> inputs;
  inputs.query = AsHead(query);
  inputs.key = AsHead(key);
  inputs.value = AsHead(value);
  inputs.mask.causal = options.causal;
  return inputs;
}

}  // namespace

template <typename T>
absl::StatusOr<HeadOutputs<T>> HeadForward(const Tensor<T>& query,
                                           const Tensor<T>& key,
                                           const Tensor<T>& value,
                                           const HeadOptions& options) {
  absl::StatusOr<AttentionOutputs<T>> outputs = reference::AttentionForward(
      Inputs(query, key, value, options),
      AttentionOptions{.scale = options.scale, .weights = true});
  if (!outputs.ok()) return outputs.status();
  HeadOutputs<T> head;
  head.weights = AsMatrix(*std::move(outputs->weights));
  head.output = AsMatrix(std::move(outputs->output));
  head.log_sum_exp = std::move(outputs->log_sum_exp.elements());
  return head;
}

absl::StatusOr<HeadGradients> HeadBackward(
    const Tensor<double>& query, const Tensor<double>& key,
    const Tensor<double>& value, const HeadOptions& options,
    const Tensor<double>& output_gradient) {
  AttentionInputs<double> inputs = Inputs(query, key, value, options);
  // A bias of zero: it changes no score, and its gradient is the scores'.
  const Tensor<double> no_bias({1, 1, query.dim(0), key.dim(0)});
  inputs.bias = no_bias.view();
  absl::StatusOr<AttentionGradients<double>> gradients =
      reference::AttentionBackward(inputs,
                                   AttentionOptions{.scale = options.scale},
                                   AsHead(output_gradient));
  if (!gradients.ok()) return gradients.status();
  HeadGradients head;
  head.query = AsMatrix(std::move(gradients->query));
  head.key = AsMatrix(std::move(gradients->key));
  head.value = AsMatrix(std::move(gradients->value));
  head.scores = AsMatrix(*std::move(gradients->bias));
  return head;
}

template absl::StatusOr<HeadOutputs<double>> HeadForward(
    const Tensor<double>& query, const Tensor<double>& key,
    const Tensor<double>& value, const HeadOptions& options);
template absl::StatusOr<HeadOutputs<std::complex<double>>> HeadForward(
    const Tensor<std::complex<double>>& query,
    const Tensor<std::complex<double>>& key,
    const Tensor<std::complex<double>>& value, const HeadOptions& options);

}  // namespace softlookup
