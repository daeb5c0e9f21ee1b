// A transformer of any ModelConfig, forward and backward by hand.
//
//   x_0 = W_E[token] (+ W_pos[position])
//   x   = x + sum over heads of z_h W_O^h                (attention)
//   x   = x + f(x W_in + b_in) W_out + b_out             (MLP)
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

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/tensor/strided_view.h"
#include "base/tensor/tensor.h"
#include "model/activations.h"
#include "model/config.h"
#include "model/engine.h"
#include "model/hooks.h"
#include "model/parameters.h"
#include "model/pass.h"

namespace softlookup {

// T is float or double.
template <typename T>
class Transformer {
 public:
  // `config` must pass CheckConfig.
  explicit Transformer(const ModelConfig& config,
                       const Engine<T>& engine = Engine<T>());

  const ModelConfig& config() const { return parts_.layout.config(); }
  const ParameterLayout& layout() const { return parts_.layout; }
  const Engine<T>& engine() const { return parts_.engine; }

  // InvalidArgument for another number of parameters, tokens that are not
  // [B, T] with 1 <= T <= context, tokens outside the vocabulary, and hooks of
  // other names than HookNames. After an edit the activations fit no backward
  // pass.
  absl::Status Forward(absl::Span<const T> parameters,
                       const Tensor<int32_t>& tokens,
                       TransformerActivations<T>& activations,
                       Hooks<T>* hooks = nullptr) const;

  // gradient = dL/dparameters from d_logits = dL/dlogits, [B T, V] with
  // contiguous rows, and the activations of Forward with the same parameters
  // and tokens, of which it changes the memory of backward passes alone.
  void Backward(absl::Span<const T> parameters, const Tensor<int32_t>& tokens,
                TransformerActivations<T>& activations,
                const StridedView<const T>& d_logits,
                absl::Span<T> gradient) const;

 private:
  TransformerParts<T> parts_;
};

}  // namespace softlookup

#endif  // SOFTLOOKUP_MODEL_TRANSFORMER_H_
