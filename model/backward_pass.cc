#include "model/backward_pass.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "attention/kernels/array_function.h"
#include "model/norm.h"
#include "model/row_reductions.h"

namespace softlookup {

using kernels::ArrayFunction;

// total[k] += sum over rows of x[row, k].
template <typename T>
void BackwardPass<T>::AddSums(const StridedView<const T>& x, T* total) const {
  const T* const data = x.data();
  const int64_t stride = x.stride(0);
  AddSums(
      x.dim(1), [=](int64_t row, int64_t k) { return data[row * stride + k]; },
      total);
}

template <typename T>
template <typename Term>
void BackwardPass<T>::AddSums(int64_t columns, const Term& term,
                              T* total) const {
  engine.ForColumns(columns, [&](int64_t begin, int64_t end) {
    AddColumnSums(rows, begin, end, term, total);
  });
}

template <typename T>
void BackwardPass<T>::AddInput(const StridedView<const T>& d_output,
                               const StridedView<const T>& weight,
                               int64_t offset, const NormActivations<T>& norm) {
  Tensor<T>& d_x = memory_.d_x;
  if (offset < 0) {
    engine.Multiply(d_output, weight.Transpose(0, 1), d_x.view(),
                    {.accumulate = true});
    return;
  }
  Tensor<T>& d_input = memory_.d_input;
  Resize(d_input, d_x.shape());
  engine.Multiply(d_output, weight.Transpose(0, 1), d_input.view());
  T* d_weight = gradient_ + offset;
  const T* const from = &d_input[0];
  const T* const normalized = &norm.normalized[0];
  const int64_t width = config.d_model;
  AddSums(
      width,
      [=](int64_t row, int64_t k) {
        return from[row * width + k] * normalized[row * width + k];
      },
      d_weight);
  if (config.normalization_type == NormalizationType::kLn) {
    AddSums(std::as_const(d_input).view(), d_weight + width);
  }
  engine.ForRows(rows, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      T* d = &d_input(row, 0);
      NormRowBackward(config.normalization_type, &norm.normalized(row, 0),
                      norm.scale[row], weights + offset, d, config.d_model, d);
      for (int64_t k = 0; k < config.d_model; ++k) d_x(row, k) += d[k];
    }
  });
}

template <typename T>
void BackwardPass<T>::PositionWise(const LayerOffsets& at,
                                   const LayerActivations<T>& layer) {
  const int64_t d = config.d_model;
  const int64_t m = config.d_mlp;
  const StridedView<const T> d_out = memory_.d_x.view();
  // y = post W_out + b_out
  engine.Multiply(layer.mlp_post.view().Transpose(0, 1), d_out,
                  AsMatrix(gradient_ + at.mlp_out, m, d));
  if (config.biases) AddSums(d_out, gradient_ + at.mlp_out_bias);
  Tensor<T>& d_mlp = memory_.d_mlp;
  Resize(d_mlp, {rows, m});
  engine.Multiply(d_out, Weight(at.mlp_out, m, d).Transpose(0, 1),
                  d_mlp.view());
  // post = f(pre)
  Tensor<T>& slope = memory_.slope;
  Resize(slope, {rows, m});
  if (config.act_fn == ActivationFunction::kGelu) {
    engine.Map(ArrayFunction::kGeluSlope, &layer.mlp_pre[0], &slope[0],
               rows * m);
  }
  engine.ForRows(rows, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * m; i < end * m; ++i) {
      if (config.act_fn == ActivationFunction::kRelu) {
        slope[i] = layer.mlp_pre[i] > 0 ? T{1} : T{0};
      }
      d_mlp[i] *= slope[i];
    }
  });
  // pre = norm(x) W_in + b_in
  const Tensor<T>& input = at.norm2 < 0 ? layer.resid_mid : layer.norm2.output;
  engine.Multiply(input.view().Transpose(0, 1), std::as_const(d_mlp).view(),
                  AsMatrix(gradient_ + at.mlp_in, d, m));
  if (config.biases) {
    AddSums(std::as_const(d_mlp).view(), gradient_ + at.mlp_in_bias);
  }
  AddInput(d_mlp.view(), Weight(at.mlp_in, d, m), at.norm2, layer.norm2);
}

// k'_t = s k_t + (1 - s) k_(t - 1), k'_0 = k_0.
template <typename T>
void BackwardPass<T>::Smear(int64_t offset, const LayerActivations<T>& layer) {
  const int64_t width = config.d_head;
  const StridedView<T> d_key = Key(&memory_.d_qkv[0]);
  for (int64_t h = 0; h < config.n_key_value_heads; ++h) {
    const T share = Share(offset, h);
    T d_share = 0;
    for (int64_t b = 0; b < batch; ++b) {
      for (int64_t t = 0; t < positions; ++t) {
        T* d = &d_key(b, h, t, 0);
        const int64_t row = b * positions + t;
        if (t > 0) {
          const T* kept = &layer.key_unmixed(row, h * width);
          const T* before = &layer.key_unmixed(row - 1, h * width);
          for (int64_t k = 0; k < width; ++k) {
            d_share = std::fma(d[k], kept[k] - before[k], d_share);
            d[k] *= share;
          }
        }
        if (t + 1 < positions) {
          // Not yet changed: this goes from the first position to the last.
          const T* d_next = &d_key(b, h, t + 1, 0);
          for (int64_t k = 0; k < width; ++k) d[k] += (1 - share) * d_next[k];
        }
      }
    }
    gradient_[offset + h] += d_share * share * (1 - share);
  }
}

template <typename T>
void BackwardPass<T>::Attention(const LayerOffsets& at,
                                LayerActivations<T>& layer) {
  const int64_t d = config.d_model;
  const StridedView<const T> d_out = memory_.d_x.view();
  // y = z W_O + b_O
  engine.Multiply(layer.z.view().Transpose(0, 1), d_out,
                  AsMatrix(gradient_ + at.out, head_columns, d));
  if (config.biases) AddSums(d_out, gradient_ + at.out_bias);
  Tensor<T>& d_z = memory_.d_z;
  Resize(d_z, {rows, head_columns});
  engine.Multiply(d_out, Weight(at.out, head_columns, d).Transpose(0, 1),
                  d_z.view());
  // z = attention(q, k, v)
  Tensor<T>& d_qkv = memory_.d_qkv;
  Resize(d_qkv, {rows, qkv_width});
  engine.AttentionBackward(
      Inputs(layer.qkv), {Output(&layer.z[0]), layer.log_sum_exp.view()},
      Output(&std::as_const(d_z)[0]),
      {Query(&d_qkv[0]), Key(&d_qkv[0]), Value(&d_qkv[0])});
  if (config.positional_embedding_type == PositionalEmbeddingType::kRotary)
    RotateHeads(true, d_qkv);
  if (config.smeared_keys) Smear(at.smear, layer);
  // qkv = norm(x) W_QKV + b_QKV
  const Tensor<T>& input = at.norm1 < 0 ? layer.resid_pre : layer.norm1.output;
  engine.Multiply(input.view().Transpose(0, 1), std::as_const(d_qkv).view(),
                  AsMatrix(gradient_ + at.qkv, d, qkv_width));
  if (config.biases) {
    AddSums(std::as_const(d_qkv).view(), gradient_ + at.qkv_bias);
  }
  AddInput(d_qkv.view(), Weight(at.qkv, d, qkv_width), at.norm1, layer.norm1);
}

template <typename T>
void BackwardPass<T>::Layer(int64_t index, LayerActivations<T>& layer) {
  const LayerOffsets& at = layout.layer(index);
  if (config.d_mlp > 0) PositionWise(at, layer);
  Attention(at, layer);
}

// logits = norm(x) W_U + b_U
template <typename T>
void BackwardPass<T>::Unembed(const StridedView<const T>& d_logits,
                              const TransformerActivations<T>& activations) {
  const int64_t d = config.d_model;
  const int64_t vocabulary = config.d_vocab;
  const int64_t norm = layout.final_norm();
  const Tensor<T>& last =
      norm < 0 ? activations.resid_final : activations.final_norm.output;
  if (config.tied) {
    engine.Multiply(d_logits.Transpose(0, 1), last.view(),
                    AsMatrix(gradient_ + layout.embedding(), vocabulary, d));
  } else {
    engine.Multiply(last.view().Transpose(0, 1), d_logits,
                    AsMatrix(gradient_ + layout.unembedding(), d, vocabulary));
  }
  if (config.biases) {
    AddSums(d_logits, gradient_ + layout.unembedding_bias());
  }
  Resize(memory_.d_x, {rows, d});
  std::fill(memory_.d_x.elements().begin(), memory_.d_x.elements().end(), T{0});
  AddInput(d_logits, Unembedding(), norm, activations.final_norm);
}

// x_0 = W_E[token] + W_pos[position]
template <typename T>
void BackwardPass<T>::Embed(const Tensor<int32_t>& tokens) {
  const int64_t d = config.d_model;
  // Rows share embeddings, so that threads share the columns.
  engine.ForColumns(d, [&](int64_t begin, int64_t end) {
    for (int64_t row = 0; row < rows; ++row) {
      const T* d_x = &memory_.d_x(row, 0);
      T* d_embedding = gradient_ + layout.embedding() + tokens[row] * d;
      for (int64_t k = begin; k < end; ++k) d_embedding[k] += d_x[k];
      if (layout.positions() < 0) continue;
      T* d_position = gradient_ + layout.positions() + row % positions * d;
      for (int64_t k = begin; k < end; ++k) d_position[k] += d_x[k];
    }
  });
}

template class BackwardPass<float>;
template class BackwardPass<double>;

}  // namespace softlookup
