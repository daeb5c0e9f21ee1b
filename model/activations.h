// What a transformer's forward pass computes and its backward pass needs.
//
//   TransformerActivations<float> memory;      // empty: Forward sizes it
//   model.Forward(weights, tokens, memory);
//   memory.layers[0].z;                        // [B T, H D]
//
// B sequences of T tokens; the widths are those of model/config.h.
#ifndef SOFTLOOKUP_MODEL_ACTIVATIONS_H_
#define SOFTLOOKUP_MODEL_ACTIVATIONS_H_

#include <cstdint>
#include <vector>

#include "base/tensor/shape.h"
#include "base/tensor/tensor.h"

namespace softlookup {

// Memory of this shape, kept where it already has it.
template <typename T>
void Resize(Tensor<T>& tensor, const Shape& shape) {
  if (tensor.shape() != shape) tensor = Tensor<T>(shape);
}

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
  Tensor<T> mlp_pre;   // [B T, m]; empty without an MLP
  Tensor<T> mlp_post;  // [B T, m]
};

// Gradients on their way back. Every layer uses the same memory.
template <typename T>
struct BackwardMemory {
  Tensor<T> d_x;      // [B T, d], of the residual stream
  Tensor<T> d_input;  // [B T, d], of a branch's input
  Tensor<T> d_z;      // [B T, H D]
  Tensor<T> d_qkv;    // [B T, (H + 2 Hkv) D]
  Tensor<T> d_mlp;    // [B T, m]
  Tensor<T> slope;    // [B T, m]
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
  // What a backward pass works on, kept so that the next one need not ask for
  // memory again.
  BackwardMemory<T> backward;
};

}  // namespace softlookup

#endif  // SOFTLOOKUP_MODEL_ACTIVATIONS_H_
