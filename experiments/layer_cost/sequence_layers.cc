#include "experiments/layer_cost/sequence_layers.h"

#include <algorithm>
#include <cmath>
#include <complex>

#include "absl/types/span.h"
#include "attention/reference/attention_reference.h"
#include "base/elementary.h"
#include "base/tensor/strided_view.h"

namespace softlookup {
namespace {

template <typename T>
T Apply(Nonlinearity f, const T& x) {
  return f == Nonlinearity::kTanh ? Tanh(x) : x;
}

// softmax over j of q . k_j / sqrt(d), [T], whatever the kind of number.
template <typename T>
void FillWeights(absl::Span<const T> query, const Tensor<T>& keys,
                 absl::Span<T> weights) {
  const T scale = T(1 / std::sqrt(static_cast<double>(query.size())));
  for (int64_t j = 0; j < keys.dim(0); ++j) {
    T score = T(0);
    for (int64_t i = 0; i < keys.dim(1); ++i) score += query[i] * keys(j, i);
    weights[j] = score * scale;
  }
  T maximum = weights[0];
  for (const T& score : weights) {
    if (score > maximum) maximum = score;
  }
  T sum = T(0);
  for (T& score : weights) {
    score = Exp(score - maximum);
    sum += score;
  }
  for (T& score : weights) score /= sum;
}

// sum_j weights_j v_j, [d_v].
template <typename T>
std::vector<T> WeightedSum(absl::Span<const T> weights,
                           const Tensor<T>& values) {
  std::vector<T> output(values.dim(1), T(0));
  for (int64_t j = 0; j < values.dim(0); ++j) {
    for (int64_t c = 0; c < values.dim(1); ++c) {
      output[c] += weights[j] * values(j, c);
    }
  }
  for (T& component : output) component = Update(component);
  return output;
}

// dL/dx_t from dL/dh_T through `matrix` and the slopes of f; the absolute
// chain and the true one differ in these factors only.
template <typename Slope>
Tensor<double> ChainGradient(const Tensor<double>& matrix,
                             const Tensor<double>& states,
                             std::vector<double> d_state, const Slope& slope) {
  const int64_t d = states.dim(1);
  Tensor<double> d_x(states.shape());
  for (int64_t t = states.dim(0) - 1; t >= 0; --t) {
    // h_t = f(h_{t-1} W + x_t)
    for (int64_t i = 0; i < d; ++i) {
      d_x(t, i) = d_state[i] * slope(states(t, i));
    }
    for (int64_t a = 0; a < d; ++a) {
      d_state[a] = 0;
      for (int64_t b = 0; b < d; ++b) d_state[a] += matrix(a, b) * d_x(t, b);
    }
  }
  return d_x;
}

}  // namespace

template <typename T>
std::vector<T> RowCopy(const Tensor<T>& rows, int64_t t) {
  const T* row = &rows(t, 0);
  return std::vector<T>(row, row + rows.dim(1));
}

template <typename T>
Tensor<T> Project(const Tensor<T>& x, const Tensor<T>& w) {
  Tensor<T> y({x.dim(0), w.dim(1)});
  for (int64_t t = 0; t < x.dim(0); ++t) {
    for (int64_t a = 0; a < x.dim(1); ++a) {
      for (int64_t b = 0; b < w.dim(1); ++b) y(t, b) += x(t, a) * w(a, b);
    }
  }
  return y;
}

template <typename T>
Tensor<T> RecurrentStates(const Tensor<T>& w, const Tensor<T>& x,
                          const std::vector<T>& h0, Nonlinearity f) {
  const int64_t d = x.dim(1);
  Tensor<T> states(x.shape());
  std::vector<T> h = h0;
  for (int64_t t = 0; t < x.dim(0); ++t) {
    std::vector<T> next = RowCopy(x, t);
    for (int64_t a = 0; a < d; ++a) {
      for (int64_t b = 0; b < d; ++b) next[b] += h[a] * w(a, b);
    }
    for (int64_t b = 0; b < d; ++b) states(t, b) = Update(Apply(f, next[b]));
    h = RowCopy(states, t);
  }
  return states;
}

Tensor<double> RecurrentGradient(const Tensor<double>& w,
                                 const Tensor<double>& states,
                                 const std::vector<double>& last_gradient,
                                 Nonlinearity f) {
  return ChainGradient(w, states, last_gradient, [f](double h) {
    return f == Nonlinearity::kTanh ? 1 - h * h : 1;
  });
}

Tensor<double> RecurrentGradientMagnitude(
    const Tensor<double>& w, const Tensor<double>& states,
    const std::vector<double>& last_gradient, Nonlinearity f) {
  Tensor<double> magnitudes = w;
  for (double& element : magnitudes.elements()) element = std::abs(element);
  std::vector<double> gradient = last_gradient;
  for (double& element : gradient) element = std::abs(element);
  return ChainGradient(magnitudes, states, gradient, [f](double h) {
    return f == Nonlinearity::kTanh ? 1 + h * h : 1;
  });
}

template <typename T>
std::vector<T> AttentionRow(const std::vector<T>& query, const Tensor<T>& keys,
                            const Tensor<T>& values) {
  std::vector<T> weights(keys.dim(0), T(0));
  FillWeights<T>(query, keys, absl::MakeSpan(weights));
  return WeightedSum<T>(weights, values);
}

template <typename T>
Tensor<T> SelfAttention(const Tensor<T>& queries, const Tensor<T>& keys,
                        const Tensor<T>& values, WorkingMemory* memory) {
  const int64_t positions = keys.dim(0);
  WorkingMemory unread;
  Buffer<T> weights(queries.dim(0) * positions, T(0),
                    memory != nullptr ? *memory : unread);
  for (int64_t i = 0; i < queries.dim(0); ++i) {
    FillWeights<T>(RowCopy(queries, i), keys,
                   weights.Slice(i * positions, positions));
  }
  Tensor<T> outputs({queries.dim(0), values.dim(1)});
  for (int64_t i = 0; i < queries.dim(0); ++i) {
    const std::vector<T> row =
        WeightedSum<T>(weights.Slice(i * positions, positions), values);
    std::copy(row.begin(), row.end(), &outputs(i, 0));
  }
  return outputs;
}

absl::StatusOr<AttentionOutputs<double>> ReferenceAttention(
    const Tensor<double>& queries, const Tensor<double>& keys,
    const Tensor<double>& values, CausalAlignment causal) {
  const auto head = [](const Tensor<double>& matrix) {
    return StridedView<const double>(matrix.data(),
                                     {1, 1, matrix.dim(0), matrix.dim(1)});
  };
  AttentionInputs<double> inputs;
  inputs.query = head(queries);
  inputs.key = head(keys);
  inputs.value = head(values);
  inputs.mask.causal = causal;
  AttentionOptions options;
  options.weights = true;
  return reference::AttentionForward(inputs, options);
}

template <typename T>
Tensor<T> Convolution(const Tensor<T>& x, const Tensor<T>& kernel) {
  const int64_t d = x.dim(1);
  Tensor<T> y(x.shape());
  for (int64_t t = 0; t < x.dim(0); ++t) {
    std::vector<T> sum(d, T(0));
    for (int64_t c = 0; c < kernel.dim(0); ++c) {
      for (int64_t a = 0; a < d; ++a) {
        const T input = t >= c ? x(t - c, a) : T(0);
        for (int64_t b = 0; b < d; ++b) sum[b] += input * kernel(c, a, b);
      }
    }
    for (int64_t b = 0; b < d; ++b) y(t, b) = Update(sum[b]);
  }
  return y;
}

#define SOFTLOOKUP_INSTANTIATE(T)                                        \
  template std::vector<T> RowCopy(const Tensor<T>&, int64_t);            \
  template Tensor<T> Project(const Tensor<T>&, const Tensor<T>&);        \
  template Tensor<T> RecurrentStates(const Tensor<T>&, const Tensor<T>&, \
                                     const std::vector<T>&, Nonlinearity)
SOFTLOOKUP_INSTANTIATE(double);
SOFTLOOKUP_INSTANTIATE(std::complex<double>);
SOFTLOOKUP_INSTANTIATE(Traced);
#undef SOFTLOOKUP_INSTANTIATE

#define SOFTLOOKUP_INSTANTIATE(T)                                           \
  template std::vector<T> AttentionRow(const std::vector<T>&,               \
                                       const Tensor<T>&, const Tensor<T>&); \
  template Tensor<T> SelfAttention(const Tensor<T>&, const Tensor<T>&,      \
                                   const Tensor<T>&, WorkingMemory*);       \
  template Tensor<T> Convolution(const Tensor<T>&, const Tensor<T>&)
SOFTLOOKUP_INSTANTIATE(double);
SOFTLOOKUP_INSTANTIATE(Traced);
#undef SOFTLOOKUP_INSTANTIATE

}  // namespace softlookup
