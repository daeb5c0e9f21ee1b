#include "model/forward_pass.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "attention/kernels/array_function.h"
#include "model/norm.h"

namespace softlookup {

using kernels::ArrayFunction;

template <typename T>
void ForwardPass<T>::Visit(const std::string& name,
                           const StridedView<T>& activation) const {
  if (!Wants(name)) return;
  if (hooks_->Edits(name)) {
    hooks_->Edit(name, activation);
  } else {
    hooks_->Read(name, activation);
  }
}

template <typename T>
void ForwardPass<T>::AddBranch(const std::string& name, const Tensor<T>& a,
                               const StridedView<const T>& b, const T* bias,
                               const Tensor<T>& residual, Tensor<T>& x) const {
  Resize(x, residual.shape());
  engine.ForRows(rows, [&](int64_t begin, int64_t end) {
    std::copy(&residual(begin, 0),
              &residual(begin, 0) + (end - begin) * config.d_model,
              &x(begin, 0));
  });
  if (Wants(name)) {
    Tensor<T> write({rows, config.d_model});
    engine.Multiply(a.view(), b, write.view(), {.bias = bias});
    Visit(name, ByPosition(write));
    if (hooks_->Edits(name)) {
      for (int64_t i = 0; i < x.size(); ++i) x[i] += write[i];
      return;
    }
  }
  engine.Multiply(a.view(), b, x.view(), {.accumulate = true, .bias = bias});
}

template <typename T>
Tensor<T> ForwardPass<T>::Pattern(const Tensor<T>& qkv) const {
  const AttentionInputs<T> inputs = Inputs(qkv);
  const int64_t group = config.n_heads / config.n_key_value_heads;
  const T scale = 1 / std::sqrt(static_cast<T>(config.d_head));
  Tensor<T> pattern({batch, config.n_heads, positions, positions});
  engine.run().ParallelFor(batch * config.n_heads, [&](int64_t n) {
    const int64_t b = n / config.n_heads;
    const int64_t h = n % config.n_heads;
    const auto head = [&](const StridedView<const T>& view, int64_t index) {
      return StridedView<const T>(
          &view(b, index, 0, 0),
          {{positions, config.d_head}, {view.stride(2), view.stride(3)}});
    };
    T* const first = &pattern(b, h, 0, 0);
    engine.Multiply(head(inputs.query, h),
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
      engine.Map(ArrayFunction::kExp, row, row, i + 1);
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
  const int64_t width = config.d_head;
  const int64_t group = config.n_heads / config.n_key_value_heads;
  const StridedView<const T> value = Value(&qkv[0]);
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t h = 0; h < config.n_heads; ++h) {
      engine.Multiply(
          AsMatrix<const T>(&pattern(b, h, 0, 0), positions, positions),
          StridedView<const T>(&value(b, h / group, 0, 0),
                               {{positions, width}, {qkv_width, 1}}),
          StridedView<T>(&z(b * positions, h * width),
                         {{positions, width}, {z.dim(1), 1}}));
    }
  }
}

template <typename T>
const Tensor<T>& ForwardPass<T>::Normalize(const std::string& name,
                                           const Tensor<T>& x, int64_t offset,
                                           NormActivations<T>& norm) const {
  if (offset < 0) return x;
  Resize(norm.normalized, x.shape());
  Resize(norm.output, x.shape());
  Resize(norm.scale, {rows});
  engine.ForRows(rows, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      norm.scale[row] = NormRow(config.normalization_type, &x(row, 0),
                                weights + offset, config.d_model,
                                &norm.normalized(row, 0), &norm.output(row, 0));
    }
  });
  Visit(absl::StrCat(name, ".hook_normalized"), ByPosition(norm.output));
  return norm.output;
}

template <typename T>
void ForwardPass<T>::SmearKeys(int64_t offset,
                               LayerActivations<T>& layer) const {
  const int64_t width = config.d_head;
  Resize(layer.key_unmixed, {rows, config.n_key_value_heads * width});
  const StridedView<T> key = Key(&layer.qkv[0]);
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t h = 0; h < config.n_key_value_heads; ++h) {
      const T share = Share(offset, h);
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

template <typename T>
void ForwardPass<T>::Layer(int64_t index, LayerActivations<T>& layer,
                           Tensor<T>& next) const {
  const LayerOffsets& at = layout.layer(index);
  const std::string block = absl::StrCat("blocks.", index, ".");
  const int64_t d = config.d_model;
  const Tensor<T>& x = layer.resid_pre;
  Visit(block + "hook_resid_pre", ByPosition(layer.resid_pre));
  const Tensor<T>& input = Normalize(block + "ln1", x, at.norm1, layer.norm1);
  Resize(layer.qkv, {rows, qkv_width});
  engine.Multiply(input.view(), Weight(at.qkv, d, qkv_width), layer.qkv.view(),
                  {.bias = Bias(at.qkv_bias)});
  Visit(block + "attn.hook_q", Query(&layer.qkv[0]).Transpose(1, 2));
  Visit(block + "attn.hook_k", Key(&layer.qkv[0]).Transpose(1, 2));
  Visit(block + "attn.hook_v", Value(&layer.qkv[0]).Transpose(1, 2));
  if (config.smeared_keys) SmearKeys(at.smear, layer);
  if (config.positional_embedding_type == PositionalEmbeddingType::kRotary)
    RotateHeads(false, layer.qkv);
  Resize(layer.z, {rows, head_columns});
  Resize(layer.log_sum_exp, {batch, config.n_heads, positions});
  engine.AttentionForward(Inputs(layer.qkv),
                          {Output(&layer.z[0]), layer.log_sum_exp.view()});
  const std::string pattern_name = block + "attn.hook_pattern";
  if (Wants(pattern_name)) {
    Tensor<T> pattern = Pattern(layer.qkv);
    Visit(pattern_name, pattern.view());
    if (hooks_->Edits(pattern_name)) MixByPattern(pattern, layer.qkv, layer.z);
  }
  Visit(block + "attn.hook_z", Output(&layer.z[0]).Transpose(1, 2));
  Tensor<T>& mid = config.d_mlp > 0 ? layer.resid_mid : next;
  AddBranch(block + "hook_attn_out", layer.z, Weight(at.out, head_columns, d),
            Bias(at.out_bias), x, mid);
  if (config.d_mlp == 0) {
    Visit(block + "hook_resid_post", ByPosition(next));
    return;
  }

  const int64_t m = config.d_mlp;
  Visit(block + "hook_resid_mid", ByPosition(mid));
  const Tensor<T>& mlp_input =
      Normalize(block + "ln2", mid, at.norm2, layer.norm2);
  Resize(layer.mlp_pre, {rows, m});
  Resize(layer.mlp_post, {rows, m});
  engine.Multiply(mlp_input.view(), Weight(at.mlp_in, d, m),
                  layer.mlp_pre.view(), {.bias = Bias(at.mlp_in_bias)});
  Visit(block + "mlp.hook_pre", ByPosition(layer.mlp_pre));
  engine.Map(config.act_fn == ActivationFunction::kGelu ? ArrayFunction::kGelu
                                                        : ArrayFunction::kRelu,
             &layer.mlp_pre[0], &layer.mlp_post[0], rows * m);
  Visit(block + "mlp.hook_post", ByPosition(layer.mlp_post));
  AddBranch(block + "hook_mlp_out", layer.mlp_post, Weight(at.mlp_out, m, d),
            Bias(at.mlp_out_bias), mid, next);
  Visit(block + "hook_resid_post", ByPosition(next));
}

template class ForwardPass<float>;
template class ForwardPass<double>;

}  // namespace softlookup
