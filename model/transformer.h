// A transformer of any ModelConfig, forward and backward by hand.
//
//   x_0 = W_E[token] (+ W_pos[position])
//   x   = x + sum over heads of z_h W_O^h                (attention)
//   x   = x + f(x W_in + b_in) W_out + b_out             (position-wise)
//   logits = x_L W_U (+ b_U)
//
// with a norm at the start of every branch where the config has one (Vaswani
// et al. 2017; Elhage et al. 2021 for the residual stream). The parameters are
// one flat array (parameters.h).
//
//   const Transformer<float> model(config, Engine<float>({.pool = &pool}));
//   TransformerActivations<float> memory;
//   SOFTLOOKUP_RETURN_IF_ERROR(model.Forward(weights, tokens, memory));
//   ... d_logits, [B T, V], from memory.logits ...
//   model.Backward(weights, tokens, memory, d_logits.view(), gradient);
//
// Every sum has an order of its own, so float32 gives the same bits on every
// instruction set and number of threads.
#ifndef SOFTLOOKUP_MODEL_TRANSFORMER_H_
#define SOFTLOOKUP_MODEL_TRANSFORMER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/strided_view.h"
#include "base/tensor.h"
#include "model/config.h"
#include "model/engine.h"
#include "model/hooks.h"
#include "model/parameters.h"

namespace softlookup {

// What a norm keeps for its backward pass; empty without a norm.
template <typename T>
struct NormActivations {
  Tensor<T> normalized;  // [B T, d], before weight and bias
  Tensor<T> output;      // [B T, d]
  Tensor<T> scale;       // [B T], 1 / sqrt(mean square or variance + 1e-5)
};

template <typename T>
struct LayerActivations {
  Tensor<T> resid_pre;  // [B T, d], entering the layer
  NormActivations<T> norm1;
  Tensor<T> qkv;          // [B T, (H + 2 Hkv) D], as attention reads them
  Tensor<T> key_unmixed;  // [B T, Hkv D], before smearing; empty without
  Tensor<T> z;            // [B T, H D], each head's output before W_O
  Tensor<T> log_sum_exp;  // [B, H, T]
  Tensor<T> resid_mid;    // [B T, d], after attention
  NormActivations<T> norm2;
  Tensor<T> mlp_pre;   // [B T, m]; empty without a position-wise layer
  Tensor<T> mlp_post;  // [B T, m]
};

// All that a forward pass computes. May be used again for any other pass.
template <typename T>
struct TransformerActivations {
  int64_t batch = 0;
  int64_t positions = 0;
  std::vector<LayerActivations<T>> layers;
  Tensor<T> resid_final;  // [B T, d]
  NormActivations<T> final_norm;
  Tensor<T> logits;  // [B T, V]
};

// T is float or double.
template <typename T>
class Transformer {
 public:
  // `config` must pass CheckConfig.
  explicit Transformer(const ModelConfig& config,
                       const Engine<T>& engine = Engine<T>());

  const ModelConfig& config() const { return layout_.config(); }
  const ParameterLayout& layout() const { return layout_; }
  const Engine<T>& engine() const { return engine_; }

  // InvalidArgument for another number of parameters, tokens that are not
  // [B, T] with 1 <= T <= context, tokens outside the vocabulary, and hooks of
  // other names than HookNames. After an edit the activations fit no backward
  // pass.
  absl::Status Forward(absl::Span<const T> parameters,
                       const Tensor<int32_t>& tokens,
                       TransformerActivations<T>& activations,
                       Hooks<T>* hooks = nullptr) const;

  // gradient = dL/dparameters from d_logits = dL/dlogits, [B T, V], and the
  // activations of Forward with the same parameters and tokens.
  void Backward(absl::Span<const T> parameters, const Tensor<int32_t>& tokens,
                const TransformerActivations<T>& activations,
                const StridedView<const T>& d_logits,
                absl::Span<T> gradient) const;

 private:
  struct Pass;  // what one call works on

  ParameterLayout layout_;
  Engine<T> engine_;
  Tensor<T> rotation_;  // [context, D], cosines then sines
  Tensor<T> alibi_;     // [1, H, context, context]
};

}  // namespace softlookup

#endif  // SOFTLOOKUP_MODEL_TRANSFORMER_H_
