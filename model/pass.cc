#include "model/pass.h"

#include "attention/kernels/array_function.h"
#include "attention/mask.h"
#include "base/elementary.h"

namespace softlookup {
namespace {

template <typename T>
Tensor<T> RotationTable(int64_t context, int64_t width) {
  Tensor<T> table({context, width});
  const int64_t half = width / 2;
  for (int64_t position = 0; position < context; ++position) {
    for (int64_t k = 0; k < half; ++k) {
      const double exponent =
          -2 * static_cast<double>(k) / static_cast<double>(width);
      const double angle =
          static_cast<double>(position) * Pow(10000.0, exponent);
      table(position, k) = static_cast<T>(Cos(angle));
      table(position, half + k) = static_cast<T>(Sin(angle));
    }
  }
  return table;
}

// A head's vector by the angles of `turn`, a row of the table.
template <typename T>
void Rotate(const T* turn, int64_t width, bool backwards, T* vector) {
  const int64_t half = width / 2;
  for (int64_t k = 0; k < half; ++k) {
    const T cosine = turn[k];
    const T sine = backwards ? -turn[half + k] : turn[half + k];
    const T x = vector[k];
    const T y = vector[half + k];
    vector[k] = x * cosine - y * sine;
    vector[half + k] = x * sine + y * cosine;
  }
}

template <typename T>
Tensor<T> AlibiBias(int64_t heads, int64_t context) {
  Tensor<T> bias({1, heads, context, context});
  for (int64_t h = 0; h < heads; ++h) {
    const double slope =
        Pow(2.0, -8 * static_cast<double>(h + 1) / static_cast<double>(heads));
    for (int64_t i = 0; i < context; ++i) {
      for (int64_t j = 0; j < context; ++j) {
        bias(0, h, i, j) = static_cast<T>(-slope * static_cast<double>(i - j));
      }
    }
  }
  return bias;
}

}  // namespace

template <typename T>
TransformerParts<T>::TransformerParts(const ModelConfig& config,
                                      const Engine<T>& engine)
    : layout(config), engine(engine) {
  if (config.positional_embedding_type == PositionalEmbeddingType::kRotary) {
    rotation = RotationTable<T>(config.n_ctx, config.d_head);
  }
  if (config.positional_embedding_type == PositionalEmbeddingType::kAlibi) {
    alibi = AlibiBias<T>(config.n_heads, config.n_ctx);
  }
}

template <typename T>
Pass<T>::Pass(const TransformerParts<T>& transformer, const T* parameters,
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

template <typename T>
StridedView<const T> Pass<T>::Unembedding() const {
  const int64_t offset = layout.unembedding();
  return config.tied
             ? Weight(offset, config.d_vocab, config.d_model).Transpose(0, 1)
             : Weight(offset, config.d_model, config.d_vocab);
}

template <typename T>
AttentionInputs<T> Pass<T>::Inputs(const Tensor<T>& qkv) const {
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

template <typename T>
T Pass<T>::Share(int64_t offset, int64_t head) const {
  T share;
  engine.Map(kernels::ArrayFunction::kSigmoid, weights + offset + head, &share,
             1);
  return share;
}

template <typename T>
void Pass<T>::RotateHeads(bool backwards, Tensor<T>& qkv) const {
  const int64_t width = config.d_head;
  const int64_t heads = config.n_heads + config.n_key_value_heads;
  engine.ForRows(rows, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const T* turn = &parts.rotation(row % positions, 0);
      for (int64_t h = 0; h < heads; ++h) {
        Rotate(turn, width, backwards, &qkv(row, h * width));
      }
    }
  });
}

template struct TransformerParts<float>;
template struct TransformerParts<double>;
template struct Pass<float>;
template struct Pass<double>;

}  // namespace softlookup
