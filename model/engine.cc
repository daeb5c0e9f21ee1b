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
void Engine<float>::Multiply(const StridedView<const float>& a,
                             const StridedView<const float>& b,
                             const StridedView<float>& c,
                             const MultiplyOptions<float>& options) const {
  kernels::GemmOptions gemm;
  gemm.accumulate = options.accumulate;
  if (options.bias != nullptr) {
    gemm.bias = absl::MakeConstSpan(options.bias, b.dim(1));
  }
  CheckOk(kernels::Gemm(a, b, c, gemm, run_));
}

template <>
void Engine<double>::Multiply(const StridedView<const double>& a,
                              const StridedView<const double>& b,
                              const StridedView<double>& c,
                              const MultiplyOptions<double>& options) const {
  SOFTLOOKUP_CHECK(
      a.dim(1) == b.dim(0) && c.dim(0) == a.dim(0) && c.dim(1) == b.dim(1),
      "matrices that fit");
  for (int64_t i = 0; i < c.dim(0); ++i) {
    for (int64_t j = 0; j < c.dim(1); ++j) {
      double sum = options.accumulate ? c(i, j) : 0;
      for (int64_t k = 0; k < a.dim(1); ++k) {
        sum = std::fma(a(i, k), b(k, j), sum);
      }
      if (options.bias != nullptr) sum += options.bias[j];
      c(i, j) = sum;
    }
  }
}

template <>
void Engine<float>::AttentionForward(
    const AttentionInputs<float>& inputs,
    const AttentionTargets<float>& targets) const {
  CheckOk(kernels::AttentionForwardInto(inputs, {}, run_,
                                        {targets.output, targets.log_sum_exp}));
}

template <>
void Engine<double>::AttentionForward(
    const AttentionInputs<double>& inputs,
    const AttentionTargets<double>& targets) const {
  const auto outputs = reference::AttentionForward(inputs, {});
  CheckOk(outputs.status());
  Put(outputs->output, targets.output);
  Put(outputs->log_sum_exp, targets.log_sum_exp);
}

template <>
void Engine<float>::AttentionBackward(
    const AttentionInputs<float>& inputs,
    const AttentionTargets<float>& outputs,
    const StridedView<const float>& output_gradient,
    const AttentionGradientTargets<float>& targets) const {
  kernels::BackwardViews views = {
      targets.query, targets.key, targets.value, {}};
  Tensor<float> bias;  // its gradient is not asked for
  if (inputs.bias.has_value()) {
    bias = Tensor<float>(inputs.bias->shape());
    views.bias = bias.view();
  }
  CheckOk(kernels::AttentionBackwardInto(inputs, {}, outputs.output,
                                         outputs.log_sum_exp, output_gradient,
                                         run_, views));
}

template <>
void Engine<double>::AttentionBackward(
    const AttentionInputs<double>& inputs, const AttentionTargets<double>&,
    const StridedView<const double>& output_gradient,
    const AttentionGradientTargets<double>& targets) const {
  const auto gradients =
      reference::AttentionBackward(inputs, {}, output_gradient);
  CheckOk(gradients.status());
  Put(gradients->query, targets.query);
  Put(gradients->key, targets.key);
  Put(gradients->value, targets.value);
}

template <>
void Engine<float>::Map(ArrayFunction function, const float* x, float* y,
                        int64_t n) const {
  CheckOk(kernels::MapArray(function, absl::MakeConstSpan(x, n),
                            absl::MakeSpan(y, n), run_));
}

template <>
void Engine<double>::Map(ArrayFunction function, const double* x, double* y,
                         int64_t n) const {
  std::transform(x, x + n, y,
                 [function](double v) { return Value(function, v); });
}

template <typename T>
void Engine<T>::ForRuns(
    int64_t n, int64_t run,
    const std::function<void(int64_t, int64_t)>& body) const {
  run_.ParallelFor((n + run - 1) / run, [&](int64_t task) {
    body(task * run, std::min(n, (task + 1) * run));
  });
}

template <typename T>
void Engine<T>::ForRows(
    int64_t rows, const std::function<void(int64_t, int64_t)>& body) const {
  ForRuns(rows, kRowsPerTask, body);
}

template <typename T>
void Engine<T>::ForColumns(
    int64_t columns, const std::function<void(int64_t, int64_t)>& body) const {
  // Two runs for each thread, if there are so many.
  const int64_t share = columns / (2 * int64_t{run_.threads()});
  ForRuns(columns,
          std::max(kColumnsPerTask, share / kColumnsPerTask * kColumnsPerTask),
          body);
}

template class Engine<float>;
template class Engine<double>;

}  // namespace softlookup
