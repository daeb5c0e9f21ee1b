#include "model/forward_pass.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "attention/kernels/array_function.h"
#include "model/norm.h"

namespace softlookup {

using kernels::ArrayFunction;

template <typename T>
ForwardPass<T>::ForwardPass(const Pass<T>& pass,
                            TransformerActivations<T>& activations,
                            Hooks<T>* hooks)
    : pass_(pass),
      config_(pass.config),
      engine_(pass.engine),
      activations_(activations),
      hooks_(hooks),
      hooked_(hooks == nullptr ? std::set<std::string>() : hooks->Names()) {
  activations.batch = pass.batch;
  activations.positions = pass.positions;
  activations.layers.resize(config_.n_layers);
}

template <typename T>
std::string ForwardPass<T>::Point::Name() const {
  return layer == kNoLayer ? name : absl::StrCat("blocks.", layer, ".", name);
}

template <typename T>
void ForwardPass<T>::Visit(const Point& point,
                           const StridedView<T>& activation) const {
  if (!Wants(point)) return;
  if (Edits(point)) {
    hooks_->Edit(point.Name(), activation);
  } else {
    hooks_->Read(point.Name(), activation);
  }
}

// x_0 = W_E[token] + W_pos[position]
template <typename T>
void ForwardPass<T>::Embed(const Tensor<int32_t>& tokens) {
  const int64_t d = config_.d_model;
  const int64_t rows = pass_.rows;
  Tensor<T>& x_0 = activations_.layers[0].resid_pre;
  Resize(x_0, {rows, d});
  const T* const embedding = pass_.weights + pass_.layout.embedding();
  engine_.ForRows(rows, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      std::copy_n(embedding + tokens[row] * d, d, &x_0(row, 0));
    }
  });
  Visit({kNoLayer, "hook_embed"}, ByPosition(x_0));
  if (pass_.layout.positions() < 0) return;
  const T* const table = pass_.weights + pass_.layout.positions();
  const Point point = {kNoLayer, "hook_pos_embed"};
  Tensor<T> shown;
  if (Wants(point)) {
    // One for each sequence, so that each can be changed by itself.
    shown = Tensor<T>({rows, d});
    for (int64_t row = 0; row < rows; ++row) {
      std::copy_n(table + row % pass_.positions * d, d, &shown(row, 0));
    }
    Visit(point, ByPosition(shown));
  }
  engine_.ForRows(rows, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const T* position =
          shown.size() > 0 ? &shown(row, 0) : table + row % pass_.positions * d;
      T* x = &x_0(row, 0);
      for (int64_t k = 0; k < d; ++k) x[k] += position[k];
    }
  });
}

template <typename T>
void ForwardPass<T>::Layer(int64_t index) {
  LayerActivations<T>& layer = activations_.layers[index];
  Tensor<T>& next = index + 1 < config_.n_layers
                        ? activations_.layers[index + 1].resid_pre
                        : activations_.resid_final;
  Visit({index, "hook_resid_pre"}, ByPosition(layer.resid_pre));
  if (config_.d_mlp > 0) {
    Attention(index, layer, layer.resid_mid);
    Visit({index, "hook_resid_mid"}, ByPosition(layer.resid_mid));
    Mlp(index, layer, next);
  } else {
    Attention(index, layer, next);
  }
  Visit({index, "hook_resid_post"}, ByPosition(next));
}

template <typename T>
void ForwardPass<T>::Attention(int64_t index, LayerActivations<T>& layer,
                               Tensor<T>& x) const {
  const LayerOffsets& at = pass_.layout.layer(index);
  const int64_t d = config_.d_model;
  // qkv = norm(x) W_QKV + b_QKV
  const Tensor<T>& input = Normalize({index, "ln1.hook_normalized"},
                                     layer.resid_pre, at.norm1, layer.norm1);
  Resize(layer.qkv, {pass_.rows, pass_.qkv_width});
  engine_.Multiply(input.view(), pass_.Weight(at.qkv, d, pass_.qkv_width),
                   layer.qkv.view(), pass_.Bias(at.qkv_bias));
  T* const qkv = &layer.qkv[0];
  Visit({index, "attn.hook_q"}, pass_.Query(qkv).Transpose(1, 2));
  Visit({index, "attn.hook_k"}, pass_.Key(qkv).Transpose(1, 2));
  Visit({index, "attn.hook_v"}, pass_.Value(qkv).Transpose(1, 2));
  if (config_.smeared_keys) SmearKeys(at.smear, layer);
  if (config_.positional_embedding_type == PositionalEmbeddingType::kRotary) {
    pass_.RotateHeads(false, layer.qkv);
  }
  // z = attention(q, k, v)
  Resize(layer.z, {pass_.rows, pass_.head_columns});
  Resize(layer.log_sum_exp, {pass_.batch, config_.n_heads, pass_.positions});
  engine_.AttentionForward(pass_.Inputs(layer.qkv), pass_.Output(&layer.z[0]),
                           layer.log_sum_exp.view());
  const Point point = {index, "attn.hook_pattern"};
  if (Wants(point)) {
    Tensor<T> pattern = Pattern(layer.qkv);
    Visit(point, pattern.view());
    if (Edits(point)) MixByPattern(pattern, layer.qkv, layer.z);
  }
  Visit({index, "attn.hook_z"}, pass_.Output(&layer.z[0]).Transpose(1, 2));
  // y = z W_O + b_O
  AddBranch({index, "hook_attn_out"}, layer.z,
            pass_.Weight(at.out, pass_.head_columns, d),
            pass_.Bias(at.out_bias), layer.resid_pre, x);
}

template <typename T>
void ForwardPass<T>::Mlp(int64_t index, LayerActivations<T>& layer,
                         Tensor<T>& x) const {
  const LayerOffsets& at = pass_.layout.layer(index);
  const int64_t d = config_.d_model;
  const int64_t m = config_.d_mlp;
  // pre = norm(x) W_in + b_in
  const Tensor<T>& input = Normalize({index, "ln2.hook_normalized"},
                                     layer.resid_mid, at.norm2, layer.norm2);
  Resize(layer.mlp_pre, {pass_.rows, m});
  engine_.Multiply(input.view(), pass_.Weight(at.mlp_in, d, m),
                   layer.mlp_pre.view(), pass_.Bias(at.mlp_in_bias));
  Visit({index, "mlp.hook_pre"}, ByPosition(layer.mlp_pre));
  // post = f(pre)
  Resize(layer.mlp_post, {pass_.rows, m});
  engine_.Map(config_.act_fn == ActivationFunction::kGelu
                  ? ArrayFunction::kGelu
                  : ArrayFunction::kRelu,
              &layer.mlp_pre[0], &layer.mlp_post[0], pass_.rows * m);
  Visit({index, "mlp.hook_post"}, ByPosition(layer.mlp_post));
  // y = post W_out + b_out
  AddBranch({index, "hook_mlp_out"}, layer.mlp_post,
            pass_.Weight(at.mlp_out, m, d), pass_.Bias(at.mlp_out_bias),
            layer.resid_mid, x);
}

// logits = norm(x) W_U + b_U
template <typename T>
void ForwardPass<T>::Unembed() {
  const ParameterLayout& layout = pass_.layout;
  const Tensor<T>& last = Normalize(
      {kNoLayer, "ln_final.hook_normalized"}, activations_.resid_final,
      layout.final_norm(), activations_.final_norm);
  Resize(activations_.logits, {pass_.rows, config_.d_vocab});
  engine_.Multiply(last.view(), pass_.Unembedding(), activations_.logits.view(),
                   pass_.Bias(layout.unembedding_bias()));
}

template <typename T>
const Tensor<T>& ForwardPass<T>::Normalize(const Point& point,
                                           const Tensor<T>& x, int64_t offset,
                                           NormActivations<T>& norm) const {
  if (offset < 0) return x;
  NormForward(engine_, config_.normalization_type, x, pass_.weights + offset,
              norm);
  Visit(point, ByPosition(norm.output));
  return norm.output;
}

template <typename T>
void ForwardPass<T>::AddBranch(const Point& point, const Tensor<T>& a,
                               const StridedView<const T>& b, const T* bias,
                               const Tensor<T>& residual, Tensor<T>& x) const {
  const int64_t d = config_.d_model;
  Resize(x, residual.shape());
  engine_.ForRows(pass_.rows, [&](int64_t begin, int64_t end) {
    std::copy_n(&residual(begin, 0), (end - begin) * d, &x(begin, 0));
  });
  if (Wants(point)) {
    Tensor<T> write({pass_.rows, d});
    engine_.Multiply(a.view(), b, write.view(), bias);
    Visit(point, ByPosition(write));
    if (Edits(point)) {
      for (int64_t i = 0; i < x.size(); ++i) x[i] += write[i];
      return;
    }
  }
  engine_.MultiplyAdd(a.view(), b, x.view(), bias);
}

template <typename T>
Tensor<T> ForwardPass<T>::Pattern(const Tensor<T>& qkv) const {
  const AttentionInputs<T> inputs = pass_.Inputs(qkv);
  const int64_t positions = pass_.positions;
  const int64_t heads = config_.n_heads;
  const int64_t group = heads / config_.n_key_value_heads;
  const T scale = 1 / std::sqrt(static_cast<T>(config_.d_head));
  Tensor<T> pattern({pass_.batch, heads, positions, positions});
  engine_.execution().ParallelFor(pass_.batch * heads, [&](int64_t n) {
    const int64_t b = n / heads;
    const int64_t h = n % heads;
    const auto head = [&](const StridedView<const T>& view, int64_t index) {
      return StridedView<const T>(
          &view(b, index, 0, 0),
          {{positions, config_.d_head}, {view.stride(2), view.stride(3)}});
    };
    T* const first = &pattern(b, h, 0, 0);
    engine_.Multiply(head(inputs.query, h),
                     head(inputs.key, h / group).Transpose(0, 1),
                     AsMatrix(first, positions, positions));
    for (int64_t i = 0; i < positions; ++i) {
      T* row = first + i * positions;
      for (int64_t j = 0; j <= i; ++j) {
        row[j] *= scale;
        if (inputs.bias.has_value()) row[j] += (*inputs.bias)(0, h, i, j);
      }
      const T maximum = *std::max_element(row, row + i + 1);
      for (int64_t j = 0; j <= i; ++j) row[j] -= maximum;
      engine_.Map(ArrayFunction::kExp, row, row, i + 1);
      T sum = 0;
      for (int64_t j = 0; j <= i; ++j) sum += row[j];
      for (int64_t j = 0; j <= i; ++j) row[j] /= sum;
      std::fill(row + i + 1, row + positions, T{0});
    }
  });
  return pattern;
}

template <typename T>
void ForwardPass<T>::MixByPattern(const Tensor<T>& pattern,
                                  const Tensor<T>& qkv, Tensor<T>& z) const {
  const int64_t width = config_.d_head;
  const int64_t positions = pass_.positions;
  const int64_t group = config_.n_heads / config_.n_key_value_heads;
  const StridedView<const T> value = pass_.Value(&qkv[0]);
  for (int64_t b = 0; b < pass_.batch; ++b) {
    for (int64_t h = 0; h < config_.n_heads; ++h) {
      engine_.Multiply(
          AsMatrix<const T>(&pattern(b, h, 0, 0), positions, positions),
          StridedView<const T>(&value(b, h / group, 0, 0),
                               {{positions, width}, {pass_.qkv_width, 1}}),
          StridedView<T>(&z(b * positions, h * width),
                         {{positions, width}, {z.dim(1), 1}}));
    }
  }
}

template <typename T>
void ForwardPass<T>::SmearKeys(int64_t offset,
                               LayerActivations<T>& layer) const {
  const int64_t width = config_.d_head;
  const int64_t positions = pass_.positions;
  Resize(layer.key_unmixed, {pass_.rows, config_.n_key_value_heads * width});
  const StridedView<T> key = pass_.Key(&layer.qkv[0]);
  for (int64_t b = 0; b < pass_.batch; ++b) {
    for (int64_t h = 0; h < config_.n_key_value_heads; ++h) {
      const T share = pass_.Share(offset, h);
      for (int64_t t = 0; t < positions; ++t) {
        T* kept = &layer.key_unmixed(b * positions + t, h * width);
        std::copy_n(&key(b, h, t, 0), width, kept);
        if (t == 0) continue;
        const T* before = &layer.key_unmixed(b * positions + t - 1, h * width);
        for (int64_t k = 0; k < width; ++k) {
          key(b, h, t, k) = share * kept[k] + (1 - share) * before[k];
        }
      }
    }
  }
}

template class ForwardPass<float>;
template class ForwardPass<double>;

}  // namespace softlookup
