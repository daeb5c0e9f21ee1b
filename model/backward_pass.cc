#include "model/backward_pass.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "attention/kernels/array_function.h"
#include "model/norm.h"
#include "model/row_reductions.h"

namespace softlookup {

using kernels::ArrayFunction;

template <typename T>
void BackwardPass<T>::AddSums(const StridedView<const T>& x, T* total) const {
  const T* const data = x.data();
  const int64_t stride = x.stride(0);
  engine_.ForColumns(x.dim(1), [&](int64_t begin, int64_t end) {
    AddColumnSums(
        pass_.rows, begin, end,
        [=](int64_t row, int64_t k) { return data[row * stride + k]; }, total);
  });
}

template <typename T>
void BackwardPass<T>::AddInput(const StridedView<const T>& d_output,
                               const StridedView<const T>& weight,
                               int64_t offset, const NormActivations<T>& norm) {
  Tensor<T>& d_x = memory_.d_x;
  if (offset < 0) {
    engine_.MultiplyAdd(d_output, weight.Transpose(0, 1), d_x.view());
    return;
  }
  Tensor<T>& d_input = memory_.d_input;
  Resize(d_input, d_x.shape());
  engine_.Multiply(d_output, weight.Transpose(0, 1), d_input.view());
  NormBackward(engine_, config_.normalization_type, norm,
               pass_.weights + offset, d_input, d_x, gradient_ + offset);
}

// logits = norm(x) W_U + b_U
template <typename T>
void BackwardPass<T>::Unembed(const StridedView<const T>& d_logits) {
  const ParameterLayout& layout = pass_.layout;
  const int64_t d = config_.d_model;
  const Tensor<T>& last = layout.final_norm() < 0
                              ? activations_.resid_final
                              : activations_.final_norm.output;
  if (config_.tied) {
    engine_.Multiply(
        d_logits.Transpose(0, 1), last.view(),
        AsMatrix(gradient_ + layout.embedding(), config_.d_vocab, d));
  } else {
    engine_.Multiply(
        last.view().Transpose(0, 1), d_logits,
        AsMatrix(gradient_ + layout.unembedding(), d, config_.d_vocab));
  }
  if (config_.biases) {
    AddSums(d_logits, gradient_ + layout.unembedding_bias());
  }
  Resize(memory_.d_x, {pass_.rows, d});
  std::fill(memory_.d_x.elements().begin(), memory_.d_x.elements().end(), T{0});
  AddInput(d_logits, pass_.Unembedding(), layout.final_norm(),
           activations_.final_norm);
}

template <typename T>
void BackwardPass<T>::Layer(int64_t index) {
  const LayerOffsets& at = pass_.layout.layer(index);
  const LayerActivations<T>& layer = activations_.layers[index];
  if (config_.d_mlp > 0) Mlp(at, layer);
  Attention(at, layer);
}

template <typename T>
void BackwardPass<T>::Mlp(const LayerOffsets& at,
                          const LayerActivations<T>& layer) {
  const int64_t d = config_.d_model;
  const int64_t m = config_.d_mlp;
  const StridedView<const T> d_out = memory_.d_x.view();
  // y = post W_out + b_out
  engine_.Multiply(layer.mlp_post.view().Transpose(0, 1), d_out,
                   AsMatrix(gradient_ + at.mlp_out, m, d));
  if (config_.biases) AddSums(d_out, gradient_ + at.mlp_out_bias);
  Tensor<T>& d_mlp = memory_.d_mlp;
  Resize(d_mlp, {pass_.rows, m});
  engine_.Multiply(d_out, pass_.Weight(at.mlp_out, m, d).Transpose(0, 1),
                   d_mlp.view());
  // post = f(pre)
  Tensor<T>& slope = memory_.slope;
  Resize(slope, {pass_.rows, m});
  if (config_.act_fn == ActivationFunction::kGelu) {
    engine_.Map(ArrayFunction::kGeluSlope, &layer.mlp_pre[0], &slope[0],
                pass_.rows * m);
  }
  engine_.ForRows(pass_.rows, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * m; i < end * m; ++i) {
      if (config_.act_fn == ActivationFunction::kRelu) {
        slope[i] = layer.mlp_pre[i] > 0 ? T{1} : T{0};
      }
      d_mlp[i] *= slope[i];
    }
  });
  // pre = norm(x) W_in + b_in
  const Tensor<T>& input = at.norm2 < 0 ? layer.resid_mid : layer.norm2.output;
  const StridedView<const T> d_pre = std::as_const(d_mlp).view();
  engine_.Multiply(input.view().Transpose(0, 1), d_pre,
                   AsMatrix(gradient_ + at.mlp_in, d, m));
  if (config_.biases) AddSums(d_pre, gradient_ + at.mlp_in_bias);
  AddInput(d_pre, pass_.Weight(at.mlp_in, d, m), at.norm2, layer.norm2);
}

template <typename T>
void BackwardPass<T>::Attention(const LayerOffsets& at,
                                const LayerActivations<T>& layer) {
  const int64_t d = config_.d_model;
  const StridedView<const T> d_out = memory_.d_x.view();
  // y = z W_O + b_O
  engine_.Multiply(layer.z.view().Transpose(0, 1), d_out,
                   AsMatrix(gradient_ + at.out, pass_.head_columns, d));
  if (config_.biases) AddSums(d_out, gradient_ + at.out_bias);
  Tensor<T>& d_z = memory_.d_z;
  Resize(d_z, {pass_.rows, pass_.head_columns});
  engine_.Multiply(d_out,
                   pass_.Weight(at.out, pass_.head_columns, d).Transpose(0, 1),
                   d_z.view());
  // z = attention(q, k, v)
  Tensor<T>& d_qkv = memory_.d_qkv;
  Resize(d_qkv, {pass_.rows, pass_.qkv_width});
  engine_.AttentionBackward(
      pass_.Inputs(layer.qkv), pass_.Output(&layer.z[0]),
      layer.log_sum_exp.view(), pass_.Output(&std::as_const(d_z)[0]),
      pass_.Query(&d_qkv[0]), pass_.Key(&d_qkv[0]), pass_.Value(&d_qkv[0]));
  if (config_.positional_embedding_type == PositionalEmbeddingType::kRotary) {
    pass_.RotateHeads(true, d_qkv);
  }
  if (config_.smeared_keys) SmearKeys(at.smear, layer);
  // qkv = norm(x) W_QKV + b_QKV
  const Tensor<T>& input = at.norm1 < 0 ? layer.resid_pre : layer.norm1.output;
  const StridedView<const T> d_projected = std::as_const(d_qkv).view();
  engine_.Multiply(input.view().Transpose(0, 1), d_projected,
                   AsMatrix(gradient_ + at.qkv, d, pass_.qkv_width));
  if (config_.biases) AddSums(d_projected, gradient_ + at.qkv_bias);
  AddInput(d_projected, pass_.Weight(at.qkv, d, pass_.qkv_width), at.norm1,
           layer.norm1);
}

// k'_t = s k_t + (1 - s) k_(t - 1), k'_0 = k_0.
template <typename T>
void BackwardPass<T>::SmearKeys(int64_t offset,
                                const LayerActivations<T>& layer) {
  const int64_t width = config_.d_head;
  const int64_t positions = pass_.positions;
  const StridedView<T> d_key = pass_.Key(&memory_.d_qkv[0]);
  for (int64_t h = 0; h < config_.n_key_value_heads; ++h) {
    const T share = pass_.Share(offset, h);
    T d_share = 0;
    for (int64_t b = 0; b < pass_.batch; ++b) {
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

// x_0 = W_E[token] + W_pos[position]
template <typename T>
void BackwardPass<T>::Embed(const Tensor<int32_t>& tokens) {
  const int64_t d = config_.d_model;
  T* const d_embedding = gradient_ + pass_.layout.embedding();
  const int64_t table = pass_.layout.positions();
  // Rows share embeddings, so that threads share the columns.
  engine_.ForColumns(d, [&](int64_t begin, int64_t end) {
    for (int64_t row = 0; row < pass_.rows; ++row) {
      const T* d_x = &memory_.d_x(row, 0);
      T* d_token = d_embedding + tokens[row] * d;
      for (int64_t k = begin; k < end; ++k) d_token[k] += d_x[k];
      if (table < 0) continue;
      T* d_position = gradient_ + table + row % pass_.positions * d;
      for (int64_t k = begin; k < end; ++k) d_position[k] += d_x[k];
    }
  });
}

template class BackwardPass<float>;
template class BackwardPass<double>;

}  // namespace softlookup
