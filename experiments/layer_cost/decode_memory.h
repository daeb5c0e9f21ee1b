// Generating a sequence token by token: what a layer must remember.
//
// A recurrent layer keeps its state, an attention layer the keys and values of
// every token so far. Each class below holds exactly that between two tokens,
// in vectors that can be counted.
//
//   CachedAttention layer({w_q, w_k, w_v});
//   for (...) {
//     std::vector<double> o = layer.Step(x_t);
//     layer.memory();                 // numbers held: 2 t d
//   }
//
// Source: the chapter, section 1, on the constant state of a recurrent
// network.
#ifndef SOFTLOOKUP_EXPERIMENTS_LAYER_COST_DECODE_MEMORY_H_
#define SOFTLOOKUP_EXPERIMENTS_LAYER_COST_DECODE_MEMORY_H_

#include <cstdint>
#include <vector>

#include "base/tensor/tensor.h"

namespace softlookup {

// h_t = tanh(h_{t-1} W + x_t U).
class RecurrentGenerator {
 public:
  // Both [d, d].
  RecurrentGenerator(Tensor<double> recurrent_weights,
                     Tensor<double> input_weights);
  // h_t, [d], from x_t, [d].
  const std::vector<double>& Step(const std::vector<double>& x);
  int64_t memory() const { return static_cast<int64_t>(state_.size()); }

 private:
  const Tensor<double> recurrent_weights_;
  const Tensor<double> input_weights_;
  std::vector<double> state_;
};

struct AttentionProjections {
  Tensor<double> query;  // W_Q, [d, d]
  Tensor<double> key;    // W_K
  Tensor<double> value;  // W_V
};

// Causal attention of one head over the tokens so far.
class CachedAttention {
 public:
  explicit CachedAttention(AttentionProjections projections);
  // o_t, [d], from x_t, [d].
  std::vector<double> Step(const std::vector<double>& x);
  int64_t memory() const {
    return static_cast<int64_t>(keys_.size() + values_.size());
  }

 private:
  const AttentionProjections projections_;
  std::vector<double> keys_;    // [t, d]
  std::vector<double> values_;  // [t, d]
};

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_LAYER_COST_DECODE_MEMORY_H_
