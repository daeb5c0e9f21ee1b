#include "model/engine.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "attention/kernels/array_functions.h"
#include "attention/kernels/attention_kernels.h"
#include "attention/kernels/gemm.h"
#include "attention/reference/attention_reference.h"
#include "base/check.h"
#include "base/elementary.h"

namespace softlookup {
namespace {

using kernels::ArrayFunction;

// Rows and columns per task. Their results do not depend on it.
constexpr int64_t kRowsPerTask = 64;
constexpr int64_t kColumnsPerTask = 16;

double Normal(double x) { return (1 + Erf(x * 0.70710678118654752)) / 2; }

double Value(ArrayFunction function, double x) {
  switch (function) {
    case ArrayFunction::kExp:
      return Exp(x);
    case ArrayFunction::kSigmoid:
      return 1 / (1 + Exp(-x));
    case ArrayFunction::kRelu:
      return x > 0 ? x : 0;
    case ArrayFunction::kGelu:
      return x * Normal(x);
    case ArrayFunction::kGeluSlope:
      return Normal(x) + x * 0.39894228040143268 * Exp(-x * x / 2);
    default:
      SOFTLOOKUP_CHECK(false, "a function that the model uses");
      return 0;
  }
}

// A failure here is the transformer's own: its message goes to stderr.
void CheckOk(const absl::Status& status) {
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  SOFTLOOKUP_CHECK(status.ok(), "operands that fit");
}

// Copies the elements of a tensor to where they belong.
void Put(const Tensor<double>& from, const StridedView<double>& to) {
  ForEachElement([](double& x, const double& y) { x = y; }, to, from.view());
}

}  // namespace

template <>
void Engine<float>::Product(const StridedView<const float>& a,
                            const StridedView<const float>& b,
                            const StridedView<float>& c, const float* bias,
                            bool accumulate) const {
  kernels::GemmOptions options;
  options.accumulate = accumulate;
  if (bias != nullptr) options.bias = absl::MakeConstSpan(bias, b.dim(1));
  CheckOk(kernels::Gemm(a, b, c, options, execution_));
}

template <>
void Engine<double>::Product(const StridedView<const double>& a,
                             const StridedView<const double>& b,
                             const StridedView<double>& c, const double* bias,
                             bool accumulate) const {
  SOFTLOOKUP_CHECK(
      a.dim(1) == b.dim(0) && c.dim(0) == a.dim(0) && c.dim(1) == b.dim(1),
      "matrices that fit");
  for (int64_t i = 0; i < c.dim(0); ++i) {
    for (int64_t j = 0; j < c.dim(1); ++j) {
      double sum = accumulate ? c(i, j) : 0;
      for (int64_t k = 0; k < a.dim(1); ++k) {
        sum = std::fma(a(i, k), b(k, j), sum);
      }
      if (bias != nullptr) sum += bias[j];
      c(i, j) = sum;
    }
  }
}

template <>
void Engine<float>::AttentionForward(
    const AttentionInputs<float>& inputs, const StridedView<float>& output,
    const StridedView<float>& log_sum_exp) const {
  CheckOk(kernels::AttentionForwardInto(inputs, {}, execution_,
                                        {output, log_sum_exp}));
}

template <>
void Engine<double>::AttentionForward(
    const AttentionInputs<double>& inputs, const StridedView<double>& output,
    const StridedView<double>& log_sum_exp) const {
  const auto outputs = reference::AttentionForward(inputs, {});
  CheckOk(outputs.status());
  Put(outputs->output, output);
  Put(outputs->log_sum_exp, log_sum_exp);
}

template <>
void Engine<float>::AttentionBackward(
    const AttentionInputs<float>& inputs,
    const StridedView<const float>& output,
    const StridedView<const float>& log_sum_exp,
    const StridedView<const float>& d_output, const StridedView<float>& d_query,
    const StridedView<float>& d_key, const StridedView<float>& d_value) const {
  kernels::BackwardViews views = {d_query, d_key, d_value, {}};
  Tensor<float> bias;  // its gradient is not asked for
  if (inputs.bias.has_value()) {
    bias = Tensor<float>(inputs.bias->shape());
    views.bias = bias.view();
  }
  CheckOk(kernels::AttentionBackwardInto(inputs, {}, output, log_sum_exp,
                                         d_output, execution_, views));
}

template <>
void Engine<double>::AttentionBackward(
    const AttentionInputs<double>& inputs, const StridedView<const double>&,
    const StridedView<const double>&, const StridedView<const double>& d_output,
    const StridedView<double>& d_query, const StridedView<double>& d_key,
    const StridedView<double>& d_value) const {
  const auto gradients = reference::AttentionBackward(inputs, {}, d_output);
  CheckOk(gradients.status());
  Put(gradients->query, d_query);
  Put(gradients->key, d_key);
  Put(gradients->value, d_value);
}

template <>
void Engine<float>::Map(ArrayFunction function, const float* x, float* y,
                        int64_t n) const {
  CheckOk(kernels::MapArray(function, absl::MakeConstSpan(x, n),
                            absl::MakeSpan(y, n), execution_));
}

template <>
void Engine<double>::Map(ArrayFunction function, const double* x, double* y,
                         int64_t n) const {
  std::transform(x, x + n, y,
                 [function](double v) { return Value(function, v); });
}

template <typename T>
void Engine<T>::ForBlocks(
    int64_t n, int64_t block,
    const std::function<void(int64_t, int64_t)>& body) const {
  execution_.ParallelFor((n + block - 1) / block, [&](int64_t task) {
    body(task * block, std::min(n, (task + 1) * block));
  });
}

template <typename T>
void Engine<T>::ForRows(
    int64_t rows, const std::function<void(int64_t, int64_t)>& body) const {
  ForBlocks(rows, kRowsPerTask, body);
}

template <typename T>
void Engine<T>::ForColumns(
    int64_t columns, const std::function<void(int64_t, int64_t)>& body) const {
  // Two blocks for each thread, if there are so many.
  const int64_t share = columns / (2 * int64_t{execution_.threads()});
  ForBlocks(
      columns,
      std::max(kColumnsPerTask, share / kColumnsPerTask * kColumnsPerTask),
      body);
}

template class Engine<float>;
template class Engine<double>;

}  // namespace softlookup
