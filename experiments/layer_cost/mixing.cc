#include "experiments/layer_cost/mixing.h"

#include <cmath>
#include <limits>

#include "attention/attention.h"
#include "attention/mask.h"
#include "base/elementary.h"
#include "base/random/random.h"
#include "base/status.h"
#include "base/tensor/deviation.h"
#include "base/tensor/matrix.h"
#include "base/tensor/matrix_product.h"
#include "experiments/layer_cost/sequence_layers.h"
#include "experiments/layer_cost/traced.h"

namespace softlookup {
namespace {

int64_t ChainOf(const Tensor<Traced>& states) {
  return states[states.size() - 1].updates();
}

}  // namespace

template <typename T>
Tensor<T> RunningAverage(const std::vector<T>& scores,
                         const Tensor<T>& values) {
  const int64_t dv = values.dim(1);
  Tensor<T> averages(values.shape());
  T maximum = T(-std::numeric_limits<double>::infinity());
  T sum = T(0);
  std::vector<T> average(dv, T(0));
  for (int64_t t = 0; t < values.dim(0); ++t) {
    const T largest = scores[t] > maximum ? scores[t] : maximum;
    // What the earlier positions weigh, and what this one adds.
    const T before = sum * Exp(maximum - largest);
    const T weight = Exp(scores[t] - largest);
    const T total = before + weight;
    for (int64_t c = 0; c < dv; ++c) {
      average[c] =
          Update((before * average[c] + weight * values(t, c)) / total);
      averages(t, c) = average[c];
    }
    maximum = Update(largest);
    sum = Update(total);
  }
  return averages;
}

template <typename T>
Tensor<T> LinearRecurrence(const Tensor<T>& a, const Tensor<T>& b) {
  Tensor<T> states(b.shape());
  const int64_t d = b.dim(1);
  for (int64_t t = 0; t < b.dim(0); ++t) {
    for (int64_t c = 0; c < d; ++c) {
      const T before = t > 0 ? states(t - 1, c) : T(0);
      states(t, c) = Update(a(t, c) * before + b(t, c));
    }
  }
  return states;
}

template <typename T>
Tensor<T> LinearScan(const Tensor<T>& a, const Tensor<T>& b) {
  const int64_t positions = b.dim(0);
  const int64_t d = b.dim(1);
  Tensor<T> decay = a;
  Tensor<T> state = b;
  for (int64_t reach = 1; reach < positions; reach *= 2) {
    // A round reads the one before only: all positions could run at once.
    const Tensor<T> old_decay = decay;
    const Tensor<T> old_state = state;
    for (int64_t t = reach; t < positions; ++t) {
      for (int64_t c = 0; c < d; ++c) {
        state(t, c) =
            Update(old_decay(t, c) * old_state(t - reach, c) + old_state(t, c));
        decay(t, c) = Update(old_decay(t, c) * old_decay(t - reach, c));
      }
    }
  }
  return state;
}

#define SOFTLOOKUP_INSTANTIATE(T)                                             \
  template Tensor<T> RunningAverage(const std::vector<T>&, const Tensor<T>&); \
  template Tensor<T> LinearRecurrence(const Tensor<T>&, const Tensor<T>&);    \
  template Tensor<T> LinearScan(const Tensor<T>&, const Tensor<T>&)
SOFTLOOKUP_INSTANTIATE(double);
SOFTLOOKUP_INSTANTIATE(Traced);
#undef SOFTLOOKUP_INSTANTIATE

MixingInputs DrawMixingInputs(const MixingOptions& options) {
  RandomStream stream(options.seed, "mixing");
  MixingInputs inputs;
  inputs.query = GaussianMatrix(stream, 1, options.width, 1);
  inputs.keys = GaussianMatrix(stream, options.positions, options.width, 1);
  inputs.values = GaussianMatrix(stream, options.positions, options.width, 1);
  return inputs;
}

absl::StatusOr<MixingResults> MeasureMixing(const MixingInputs& inputs) {
  const auto& [query, keys, values] = inputs;
  const int64_t t = keys.dim(0);
  const int64_t d = keys.dim(1);
  // The score of key j is the same in each row.
  Tensor<double> queries({t, d});
  for (int64_t i = 0; i < queries.size(); ++i) queries[i] = query[i % d];
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const AttentionOutputs<double> whole,
      ReferenceAttention(queries, keys, values, CausalAlignment::kTopLeft));
  const Tensor<double> product =
      MatrixProduct<double>({whole.weights->data(), {t, t}}, values.view());

  const double scale = AttentionScale({}, d);
  std::vector<double> scores;
  std::vector<Traced> traced_scores;
  Trace trace;
  const Tensor<double> raw =
      MatrixProduct<double>(keys.view(), query.view().Transpose(0, 1));
  for (int64_t j = 0; j < t; ++j) {
    scores.push_back(raw[j] * scale);
    traced_scores.emplace_back(scores[j], &trace, Traced::kSource);
  }
  const Tensor<double> loop = RunningAverage(scores, values);
  const int64_t steps = ChainOf(RunningAverage(
      traced_scores, TracedTensor(values, &trace, Traced::kSource)));

  Largest rows_alone;
  for (int64_t i = t - 1; i >= 0; --i) {
    const Tensor<double> seen_keys = Copy(keys.view().Slice(0, 0, i + 1));
    const Tensor<double> seen_values = Copy(values.view().Slice(0, 0, i + 1));
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        const AttentionOutputs<double> row,
        ReferenceAttention(query, seen_keys, seen_values,
                           CausalAlignment::kNone));
    for (int64_t c = 0; c < d; ++c) {
      rows_alone.See(std::abs(row.output[c] - whole.output(0, 0, i, c)));
    }
  }
  return MixingResults{
      .positions = t,
      .width = d,
      .steps_of_the_loop = steps,
      .deviation = LargestDifference(loop, product) / LargestMagnitude(values),
      .rows_alone_deviation = rows_alone.value()};
}

ScanInputs DrawScanInputs(const MixingOptions& options) {
  RandomStream stream(options.seed, "linear recurrence");
  ScanInputs inputs;
  inputs.decay = Tensor<double>({options.positions, options.width});
  for (double& element : inputs.decay.elements()) element = stream.Uniform();
  inputs.input = GaussianMatrix(stream, options.positions, options.width, 1);
  return inputs;
}

ScanResults MeasureScan(const ScanInputs& inputs) {
  const auto& [decay, input] = inputs;
  const int64_t t = input.dim(0);
  Tensor<double> magnitude = input;
  for (double& element : magnitude.elements()) element = std::abs(element);
  const Tensor<double> loop = LinearRecurrence(decay, input);
  const Tensor<double> scan = LinearScan(decay, input);
  const Tensor<double> size = LinearRecurrence(decay, magnitude);
  Largest deviation;
  for (int64_t i = 0; i < loop.size(); ++i) {
    deviation.See(std::abs(scan[i] - loop[i]) / size[i]);
  }
  Trace trace;
  const Tensor<Traced> traced_decay =
      TracedTensor(decay, &trace, Traced::kSource);
  const Tensor<Traced> traced_input =
      TracedTensor(input, &trace, Traced::kSource);
  const int64_t rounds = ChainOf(LinearScan(traced_decay, traced_input));
  int64_t expected = 0;
  while ((int64_t{1} << expected) < t) ++expected;
  return {.positions = t,
          .width = input.dim(1),
          .steps_of_the_loop =
              ChainOf(LinearRecurrence(traced_decay, traced_input)),
          .rounds_of_the_scan = rounds,
          .rounds_deviation = rounds - expected,
          .deviation = deviation.value()};
}

}  // namespace softlookup
