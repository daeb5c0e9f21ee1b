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

#include "absl/status/statusor.h"
#include "base/tensor/tensor.h"
#include "experiments/layer_cost/sequence_layers.h"

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

// Causal attention of one head over the tokens so far.
class CachedAttention {
 public:
  explicit CachedAttention(HeadWeights weights);
  // o_t, [d], from x_t, [d].
  std::vector<double> Step(const std::vector<double>& x);
  int64_t memory() const {
    return static_cast<int64_t>(keys_.size() + values_.size());
  }

 private:
  const HeadWeights weights_;
  std::vector<double> keys_;    // [t, d]
  std::vector<double> values_;  // [t, d]
};

struct DecodeOptions {
  int64_t tokens = 0;  // T
  int64_t width = 0;   // d
  uint64_t seed = 1;
};

struct DecodeInputs {
  Tensor<double> tokens;             // [T, d]
  Tensor<double> recurrent_weights;  // W, [d, d]
  Tensor<double> input_weights;      // U, [d, d]
  HeadWeights head;
};

DecodeInputs DrawDecodeInputs(const DecodeOptions& options);

// Numbers held after each of the tokens, [T], and what they come to.
struct DecodeMemory {
  int64_t tokens = 0;
  int64_t width = 0;
  std::vector<int64_t> recurrent_memory = {};
  std::vector<int64_t> attention_memory = {};
  int64_t recurrent_growth = 0;  // last minus first
  int64_t attention_growth = 0;
  // From attention/cost.h, the sum over both layers and all tokens.
  int64_t formula_deviation = 0;
  // Of the cached attention's outputs from causal attention over the whole
  // sequence, over the largest |value|.
  double output_deviation = 0;
};

// InvalidArgument as the reference gives it.
absl::StatusOr<DecodeMemory> MeasureDecodeMemory(const DecodeInputs& inputs);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_LAYER_COST_DECODE_MEMORY_H_
