// What the forward and the backward pass of a transformer share: the sizes of
// one call, the parameters as matrices, the heads as views, and the positions
// that enter attention itself.
//
//   const Pass<float> pass(parts, weights.data(), batch, positions);
//   pass.Query(&layer.qkv[0]);              // [B, H, T, D]
#ifndef SOFTLOOKUP_MODEL_PASS_H_
#define SOFTLOOKUP_MODEL_PASS_H_

#include <cstdint>

#include "attention/attention.h"
#include "base/tensor/shape.h"
#include "base/tensor/strided_view.h"
#include "base/tensor/tensor.h"
#include "model/config.h"
#include "model/engine.h"
#include "model/parameters.h"

namespace softlookup {

// What a transformer is made of, besides its parameters.
template <typename T>
struct TransformerParts {
  // `config` must pass CheckConfig.
  TransformerParts(const ModelConfig& config, const Engine<T>& engine);

  ParameterLayout layout;
  Engine<T> engine;
  // With rotary embedding, [n_ctx, D]: the cosines of the angles
  // position * 10000^(-2k / D), k < D/2, then their sines (Su et al. 2021).
  Tensor<T> rotation;
  // With ALiBi, [1, H, n_ctx, n_ctx]: -slope_h (i - j), slope_h =
  // 2^(-8 (h + 1) / H) (Press, Smith and Lewis 2022).
  Tensor<T> alibi;
};

// A matrix over contiguous elements.
template <typename T>
StridedView<T> AsMatrix(T* data, int64_t rows, int64_t columns) {
  return {data, Shape{rows, columns}};
}

// T is float or double.
template <typename T>
struct Pass {
  // All arguments must outlive it.
  Pass(const TransformerParts<T>& transformer, const T* parameters,
       int64_t batch, int64_t positions);

  const TransformerParts<T>& parts;
  const ParameterLayout& layout;
  const ModelConfig& config;
  const Engine<T>& engine;
  const T* const weights;
  const int64_t batch;
  const int64_t positions;
  const int64_t rows;          // B T
  const int64_t head_columns;  // H D
  const int64_t qkv_width;     // (H + 2 Hkv) D

  StridedView<const T> Weight(int64_t offset, int64_t n, int64_t m) const {
    return AsMatrix(weights + offset, n, m);
  }
  // Null for what the config does not have.
  const T* Bias(int64_t offset) const {
    return offset < 0 ? nullptr : weights + offset;
  }
  // W_U, [d, V]; the embedding, transposed, where they are tied.
  StridedView<const T> Unembedding() const;

  // The heads of the joint projection, [B, heads, T, D].
  template <typename U>
  StridedView<U> Query(U* qkv) const {
    return Heads(qkv, 0, config.n_heads, qkv_width);
  }
  template <typename U>
  StridedView<U> Key(U* qkv) const {
    return Heads(qkv, config.n_heads, config.n_key_value_heads, qkv_width);
  }
  template <typename U>
  StridedView<U> Value(U* qkv) const {
    return Heads(qkv, config.n_heads + config.n_key_value_heads,
                 config.n_key_value_heads, qkv_width);
  }
  // Those of z, [B T, H D].
  template <typename U>
  StridedView<U> Output(U* z) const {
    return Heads(z, 0, config.n_heads, head_columns);
  }

  // Causal attention of a layer, with ALiBi where the config has it.
  AttentionInputs<T> Inputs(const Tensor<T>& qkv) const;

  // The share of a key itself in a smeared key of head `head`; the logits of
  // the shares lie at `offset`.
  T Share(int64_t offset, int64_t head) const;

  // Queries and keys turned in place by the rotary embedding: the pairs
  // (k, k + D/2) by the angles of their position; backwards for gradients.
  void RotateHeads(bool backwards, Tensor<T>& qkv) const;

 private:
  // Heads [first, first + heads) of rows of `width` elements.
  template <typename U>
  StridedView<U> Heads(U* data, int64_t first, int64_t heads,
                       int64_t width) const {
    return {data + first * config.d_head,
            {{batch, heads, positions, config.d_head},
             {positions * width, config.d_head, width, 1}}};
  }
};

}  // namespace softlookup

#endif  // SOFTLOOKUP_MODEL_PASS_H_
