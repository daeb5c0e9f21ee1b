// What the forward and the backward pass of a transformer share: the sizes of
// one call, the parameters as matrices, the heads as views.
//
//   const Pass<float> pass(parts, weights.data(), batch, positions);
//   pass.Query(&layer.qkv[0]);              // [B, H, T, D]
#ifndef SOFTLOOKUP_MODEL_PASS_H_
#define SOFTLOOKUP_MODEL_PASS_H_

#include <cstdint>

#include "attention/attention.h"
#include "attention/kernels/array_function.h"
#include "attention/mask.h"
#include "base/tensor/shape.h"
#include "base/tensor/strided_view.h"
#include "base/tensor/tensor.h"
#include "model/config.h"
#include "model/engine.h"
#include "model/parameters.h"
#include "model/position_encoding.h"

namespace softlookup {

// What a transformer is made of, besides its parameters.
template <typename T>
struct TransformerParts {
  ParameterLayout layout;
  Engine<T> engine;
  Tensor<T> rotation;  // [context, D], see RotationTable; or empty
  Tensor<T> alibi;     // [1, H, context, context], see AlibiBias; or empty
};

// A matrix over contiguous elements.
template <typename T>
StridedView<T> AsMatrix(T* data, int64_t rows, int64_t columns) {
  return {data, Shape{rows, columns}};
}

template <typename T>
struct Pass {
  Pass(const TransformerParts<T>& transformer, const T* parameters,
       int64_t batch, int64_t positions)
      : parts(transformer),
        layout(transformer.layout),
        config(transformer.layout.config()),
        engine(transformer.engine),
        weights(parameters),
        batch(batch),
        positions(positions),
        rows(batch * positions),
        head_columns(config.n_heads * config.d_head),
        qkv_width((config.n_heads + 2 * config.n_key_value_heads) *
                  config.d_head) {}

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
  StridedView<const T> Unembedding() const {
    const int64_t offset = layout.unembedding();
    return config.tied
               ? Weight(offset, config.d_vocab, config.d_model).Transpose(0, 1)
               : Weight(offset, config.d_model, config.d_vocab);
  }

  // Heads [first, first + heads) of the joint projection, [B, heads, T, D].
  template <typename U>
  StridedView<U> Heads(U* qkv, int64_t first, int64_t heads) const {
    const int64_t width = config.d_head;
    return {qkv + first * width,
            {{batch, heads, positions, width},
             {positions * qkv_width, width, qkv_width, 1}}};
  }
  template <typename U>
  StridedView<U> Query(U* qkv) const {
    return Heads(qkv, 0, config.n_heads);
  }
  template <typename U>
  StridedView<U> Key(U* qkv) const {
    return Heads(qkv, config.n_heads, config.n_key_value_heads);
  }
  template <typename U>
  StridedView<U> Value(U* qkv) const {
    return Heads(qkv, config.n_heads + config.n_key_value_heads,
                 config.n_key_value_heads);
  }
  template <typename U>
  StridedView<U> Output(U* z) const {
    const int64_t width = config.d_head;
    const int64_t row = config.n_heads * width;
    return {z,
            {{batch, config.n_heads, positions, width},
             {positions * row, width, row, 1}}};
  }

  AttentionInputs<T> Inputs(const Tensor<T>& qkv) const {
    AttentionInputs<T> inputs;
    inputs.query = Query(&qkv[0]);
    inputs.key = Key(&qkv[0]);
    inputs.value = Value(&qkv[0]);
    inputs.mask.causal = CausalAlignment::kTopLeft;
    if (config.positional_embedding_type == PositionalEmbeddingType::kAlibi) {
      inputs.bias =
          parts.alibi.view().Slice(2, 0, positions).Slice(3, 0, positions);
    }
    return inputs;
  }

  // The share of a key itself in a smeared key.
  T Share(int64_t offset, int64_t head) const {
    T share;
    engine.Map(kernels::ArrayFunction::kSigmoid, weights + offset + head,
               &share, 1);
    return share;
  }

  // Queries and keys, or their gradients, turned in place.
  void RotateHeads(bool backwards, Tensor<T>& qkv) const {
    const int64_t width = config.d_head;
    engine.ForRows(rows, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const T* turn = &parts.rotation(row % positions, 0);
        for (int64_t h = 0; h < config.n_heads + config.n_key_value_heads;
             ++h) {
          Rotate(turn, width, backwards, &qkv(row, h * width));
        }
      }
    });
  }
};

}  // namespace softlookup

#endif  // SOFTLOOKUP_MODEL_PASS_H_
