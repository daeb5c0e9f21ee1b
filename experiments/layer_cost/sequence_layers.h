// Three ways to mix the positions of one sequence, in their plainest form.
//
//   recurrent       h_t = f(h_{t-1} W + x_t)              f: tanh or identity
//   self-attention  o_i = sum_j softmax_j(q_i . k_j / sqrt(d)) v_j
//   convolution     y_t = sum_c x_{t-c} W_c               c = 0 to k - 1
//
// These are the layers whose costs the chapter compares, written once and run
// on three kinds of numbers: double, std::complex<double> (complex-step
// derivatives of the recurrent one) and Traced (counts of what they do). What
// a position hands on passes Update. Sums run in index order.
//
//   Tensor<double> x = Project<double>(tokens, input_weights);
//   Tensor<double> h = RecurrentStates<double>(w, x, h0, Nonlinearity::kTanh);
//   Tensor<double> dx = RecurrentGradient(w, h, dh_last, Nonlinearity::kTanh);
//
// Source: the chapter, section 1, on the costs of recurrence.
#ifndef SOFTLOOKUP_EXPERIMENTS_LAYER_COST_SEQUENCE_LAYERS_H_
#define SOFTLOOKUP_EXPERIMENTS_LAYER_COST_SEQUENCE_LAYERS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "attention/attention.h"
#include "attention/mask.h"
#include "base/tensor/tensor.h"
#include "experiments/layer_cost/traced.h"

namespace softlookup {

enum class Nonlinearity { kTanh, kIdentity };

// X W, [T, m] from [T, n] and [n, m]: every position by itself.
template <typename T>
Tensor<T> Project(const Tensor<T>& x, const Tensor<T>& w);

// The states h_1 to h_T, [T, d], from W, [d, d], the inputs x_t (projected
// already), [T, d], and h_0, [d].
template <typename T>
Tensor<T> RecurrentStates(const Tensor<T>& w, const Tensor<T>& x,
                          const std::vector<T>& h0, Nonlinearity f);

// dL/dx_t at every t, [T, d], from dL/dh_T, [d], when L depends on the last
// state only. With f = tanh, dL/dx_t is also dL/d(h_{t-1} W).
Tensor<double> RecurrentGradient(const Tensor<double>& w,
                                 const Tensor<double>& states,
                                 const std::vector<double>& last_gradient,
                                 Nonlinearity f);

// The same chain of products with every factor replaced by a bound on its
// absolute value (|W|, and 1 + h^2 for 1 - h^2), from |dL/dh_T|: rounding
// moves no element of the gradient by more than T (d + 4) units of 2^-53 of
// this. [T, d].
Tensor<double> RecurrentGradientMagnitude(
    const Tensor<double>& w, const Tensor<double>& states,
    const std::vector<double>& last_gradient, Nonlinearity f);

// One query, [d], against keys, [T, d], and values, [T, d_v]: o, [d_v].
// T >= 1.
template <typename T>
std::vector<T> AttentionRow(const std::vector<T>& query, const Tensor<T>& keys,
                            const Tensor<T>& values);

// Every query against every key, [T, d_v], as the formula reads: all weights,
// [T, T], then their weighted sums. The weights are held in `memory`.
template <typename T>
Tensor<T> SelfAttention(const Tensor<T>& queries, const Tensor<T>& keys,
                        const Tensor<T>& values,
                        WorkingMemory* memory = nullptr);

// The same by the float64 reference, with its weights: output [1, 1, T_q, d_v].
absl::StatusOr<AttentionOutputs<double>> ReferenceAttention(
    const Tensor<double>& queries, const Tensor<double>& keys,
    const Tensor<double>& values, CausalAlignment causal);

// The projections of one head.
struct HeadWeights {
  Tensor<double> query;  // W_Q, [d, d]
  Tensor<double> key;    // W_K
  Tensor<double> value;  // W_V
};

// A causal convolution with kernel [k, d, d] on [T, d]; positions before the
// first are zeros.
template <typename T>
Tensor<T> Convolution(const Tensor<T>& x, const Tensor<T>& kernel);

// Row t of a [T, d] tensor.
template <typename T>
std::vector<T> RowCopy(const Tensor<T>& rows, int64_t t);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_LAYER_COST_SEQUENCE_LAYERS_H_
