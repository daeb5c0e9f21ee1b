#include "experiments/layer_cost/sequence_layers.h"

#include <cmath>
#include <complex>

#include "base/elementary.h"
#include "experiments/layer_cost/traced.h"

namespace softlookup {
namespace {

template <typename T>
T Apply(Nonlinearity f, const T& x) {
  return f == Nonlinearity::kTanh ? Tanh(x) : x;
}

// softmax, whatever the kind of number.
template <typename T>
std::vector<T> Weights(std::vector<T> scores) {
  T maximum = scores[0];
  for (const T& score : scores) {
    if (score > maximum) maximum = score;
  }
  T sum = T(0);
  for (T& score : scores) {
    score = Exp(score - maximum);
    sum += score;
  }
  for (T& score : scores) score /= sum;
  return scores;
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
  const T scale = T(1 / std::sqrt(static_cast<double>(query.size())));
  std::vector<T> scores(keys.dim(0), T(0));
  for (int64_t j = 0; j < keys.dim(0); ++j) {
    for (int64_t i = 0; i < keys.dim(1); ++i) {
      scores[j] += query[i] * keys(j, i);
    }
    scores[j] *= scale;
  }
  const std::vector<T> weights = Weights(std::move(scores));
  std::vector<T> output(values.dim(1), T(0));
  for (int64_t j = 0; j < keys.dim(0); ++j) {
    for (int64_t c = 0; c < values.dim(1); ++c) {
      output[c] += weights[j] * values(j, c);
    }
  }
  for (T& component : output) component = Update(component);
  return output;
}

template <typename T>
Tensor<T> SelfAttention(const Tensor<T>& queries, const Tensor<T>& keys,
                        const Tensor<T>& values) {
  Tensor<T> outputs({queries.dim(0), values.dim(1)});
  for (int64_t i = 0; i < queries.dim(0); ++i) {
    const std::vector<T> row = AttentionRow(RowCopy(queries, i), keys, values);
    for (int64_t c = 0; c < values.dim(1); ++c) outputs(i, c) = row[c];
  }
  return outputs;
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
                                   const Tensor<T>&);                       \
  template Tensor<T> Convolution(const Tensor<T>&, const Tensor<T>&)
SOFTLOOKUP_INSTANTIATE(double);
SOFTLOOKUP_INSTANTIATE(Traced);
#undef SOFTLOOKUP_INSTANTIATE

}  // namespace softlookup
