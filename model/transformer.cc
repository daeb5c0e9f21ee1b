#include "model/transformer.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "attention/kernels/array_function.h"
#include "attention/mask.h"
#include "base/check.h"
#include "base/elementary.h"
#include "base/shape.h"
#include "base/status.h"
#include "model/norm.h"

namespace softlookup {
namespace {

using kernels::ArrayFunction;

template <typename T>
StridedView<const T> Matrix(const T* data, int64_t rows, int64_t columns) {
  return {data, Shape{rows, columns}};
}

template <typename T>
StridedView<T> MutableMatrix(T* data, int64_t rows, int64_t columns) {
  return {data, Shape{rows, columns}};
}

// Memory of this shape, kept where it already has it.
template <typename T>
void Resize(Tensor<T>& tensor, const Shape& shape) {
  if (tensor.shape() != shape) tensor = Tensor<T>(shape);
}

// [context, D]: the cosines of the angles position * 10000^(-2k / D), k < D/2,
// then their sines.
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

// Turns the pairs (k, k + D/2) of a head's vector by the angles of `turn`, a
// row of the table; backwards for the gradient.
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

// [1, H, context, context]: -slope_h (i - j), slope_h = 2^(-8 (h + 1) / H)
// (Press, Smith and Lewis 2022).
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

// total[k] += sum over rows of x[row, k], in order of the rows.
template <typename T>
void AddColumnSums(const StridedView<const T>& x, T* total) {
  for (int64_t row = 0; row < x.dim(0); ++row) {
    for (int64_t k = 0; k < x.dim(1); ++k) total[k] += x(row, k);
  }
}

}  // namespace

// One forward or backward call: the parameters, the sizes, and the steps.
template <typename T>
struct Transformer<T>::Pass {
  Pass(const Transformer& transformer, const T* parameters, int64_t batch,
       int64_t positions, Hooks<T>* hooks = nullptr)
      : model(transformer),
        config(transformer.config()),
        engine(transformer.engine_),
        weights(parameters),
        batch(batch),
        positions(positions),
        rows(batch * positions),
        qkv_width((config.heads + 2 * config.key_heads) * config.head_width),
        hooks(hooks),
        hooked(hooks == nullptr ? std::set<std::string>() : hooks->Names()) {}

  const Transformer& model;
  const ModelConfig& config;
  const Engine<T>& engine;
  const T* weights;
  const int64_t batch;
  const int64_t positions;
  const int64_t rows;
  const int64_t qkv_width;
  Hooks<T>* const hooks;  // or null
  const std::set<std::string> hooked;

  StridedView<const T> Weight(int64_t offset, int64_t n, int64_t m) const {
    return Matrix(weights + offset, n, m);
  }
  const T* Bias(int64_t offset) const {
    return offset < 0 ? nullptr : weights + offset;
  }

  // --- hooks ---

  bool Wants(const std::string& name) const { return hooked.count(name) > 0; }

  // Shows the activation at a point to who wants it, who may change it.
  void Visit(const std::string& name, const StridedView<T>& activation) const {
    if (!Wants(name)) return;
    if (hooks->Edits(name)) {
      hooks->Visit(name, activation);
    } else {
      // A copy: what a reader writes by mistake goes nowhere.
      Tensor<T> copy = Copy(activation);
      hooks->Visit(name, copy.view());
    }
  }

  // [B T, n] as [B, T, n].
  StridedView<T> ByPosition(Tensor<T>& tensor) const {
    return tensor.view().SplitAxis(0, {batch, positions});
  }

  // x = residual + A B + bias: a branch's write, at a point of its own.
  void AddBranch(const std::string& name, const Tensor<T>& a,
                 const StridedView<const T>& b, const T* bias,
                 const Tensor<T>& residual, Tensor<T>& x) const {
    x = residual;
    if (Wants(name)) {
      Tensor<T> write({rows, config.width});
      engine.Multiply(a.view(), b, write.view(), {.bias = bias});
      Visit(name, ByPosition(write));
      if (hooks->Edits(name)) {
        for (int64_t i = 0; i < x.size(); ++i) x[i] += write[i];
        return;
      }
    }
    engine.Multiply(a.view(), b, x.view(), {.accumulate = true, .bias = bias});
  }

  // The weights of attention, [B, H, T, T], in textbook order.
  Tensor<T> Pattern(const Tensor<T>& qkv) const {
    const AttentionInputs<T> inputs = Inputs(qkv);
    const int64_t group = config.heads / config.key_heads;
    const T scale = 1 / std::sqrt(static_cast<T>(config.head_width));
    Tensor<T> pattern({batch, config.heads, positions, positions});
    for (int64_t b = 0; b < batch; ++b) {
      for (int64_t h = 0; h < config.heads; ++h) {
        const auto query = inputs.query.Slice(0, b, b + 1).Slice(1, h, h + 1);
        const auto key =
            inputs.key.Slice(0, b, b + 1).Slice(1, h / group, h / group + 1);
        const auto matrix = [&](const StridedView<const T>& view) {
          return StridedView<const T>(view.data(),
                                      {{positions, config.head_width},
                                       {view.stride(2), view.stride(3)}});
        };
        T* const first = &pattern(b, h, 0, 0);
        engine.Multiply(matrix(query), matrix(key).Transpose(0, 1),
                        MutableMatrix(first, positions, positions));
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
      }
    }
    return pattern;
  }

  // z = pattern v, head by head.
  void MixByPattern(const Tensor<T>& pattern, const Tensor<T>& qkv,
                    Tensor<T>& z) const {
    const int64_t width = config.head_width;
    const int64_t group = config.heads / config.key_heads;
    const StridedView<const T> value = Value(&qkv[0]);
    for (int64_t b = 0; b < batch; ++b) {
      for (int64_t h = 0; h < config.heads; ++h) {
        engine.Multiply(
            Matrix(&pattern(b, h, 0, 0), positions, positions),
            StridedView<const T>(&value(b, h / group, 0, 0),
                                 {{positions, width}, {qkv_width, 1}}),
            StridedView<T>(&z(b * positions, h * width),
                           {{positions, width}, {z.dim(1), 1}}));
      }
    }
  }

  // --- forward ---

  // The branch's input: x itself, or normalised.
  const Tensor<T>& Normalize(const std::string& name, const Tensor<T>& x,
                             int64_t offset, NormActivations<T>& norm) const {
    if (offset < 0) return x;
    Resize(norm.normalized, x.shape());
    Resize(norm.output, x.shape());
    Resize(norm.scale, {rows});
    engine.ForRows(rows, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        norm.scale[row] =
            NormRow(config.norm, &x(row, 0), weights + offset, config.width,
                    &norm.normalized(row, 0), &norm.output(row, 0));
      }
    });
    Visit(absl::StrCat(name, ".hook_normalized"), ByPosition(norm.output));
    return norm.output;
  }

  // Heads [first, first + heads) of the joint projection, [B, heads, T, D].
  template <typename U>
  StridedView<U> Heads(U* qkv, int64_t first, int64_t heads) const {
    const int64_t width = config.head_width;
    return {qkv + first * width,
            {{batch, heads, positions, width},
             {positions * qkv_width, width, qkv_width, 1}}};
  }
  template <typename U>
  StridedView<U> Query(U* qkv) const {
    return Heads(qkv, 0, config.heads);
  }
  template <typename U>
  StridedView<U> Key(U* qkv) const {
    return Heads(qkv, config.heads, config.key_heads);
  }
  template <typename U>
  StridedView<U> Value(U* qkv) const {
    return Heads(qkv, config.heads + config.key_heads, config.key_heads);
  }
  template <typename U>
  StridedView<U> Output(U* z) const {
    const int64_t width = config.head_width;
    const int64_t row = config.heads * width;
    return {z,
            {{batch, config.heads, positions, width},
             {positions * row, width, row, 1}}};
  }

  AttentionInputs<T> Inputs(const Tensor<T>& qkv) const {
    AttentionInputs<T> inputs;
    inputs.query = Query(&qkv[0]);
    inputs.key = Key(&qkv[0]);
    inputs.value = Value(&qkv[0]);
    inputs.mask.causal = CausalAlignment::kTopLeft;
    if (config.positions == Positions::kAlibi) {
      inputs.bias =
          model.alibi_.view().Slice(2, 0, positions).Slice(3, 0, positions);
    }
    return inputs;
  }

  // k_t <- s k_t + (1 - s) k_(t - 1) for t >= 1, s = sigmoid of a parameter of
  // the head.
  void SmearKeys(int64_t offset, LayerActivations<T>& layer) const {
    const int64_t width = config.head_width;
    Resize(layer.key_unmixed, {rows, config.key_heads * width});
    const StridedView<T> key = Key(&layer.qkv[0]);
    for (int64_t b = 0; b < batch; ++b) {
      for (int64_t h = 0; h < config.key_heads; ++h) {
        const T share = Share(offset, h);
        for (int64_t t = 0; t < positions; ++t) {
          T* kept = &layer.key_unmixed(b * positions + t, h * width);
          std::copy_n(&key(b, h, t, 0), width, kept);
          if (t == 0) continue;
          const T* before =
              &layer.key_unmixed(b * positions + t - 1, h * width);
          for (int64_t k = 0; k < width; ++k) {
            key(b, h, t, k) = share * kept[k] + (1 - share) * before[k];
          }
        }
      }
    }
  }

  T Share(int64_t offset, int64_t head) const {
    T share;
    engine.Map(ArrayFunction::kSigmoid, weights + offset + head, &share, 1);
    return share;
  }

  // Queries and keys, or their gradients, turned in place.
  void RotateHeads(bool backwards, Tensor<T>& qkv) const {
    const int64_t width = config.head_width;
    engine.ForRows(rows, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const T* turn = &model.rotation_(row % positions, 0);
        for (int64_t h = 0; h < config.heads + config.key_heads; ++h) {
          Rotate(turn, width, backwards, &qkv(row, h * width));
        }
      }
    });
  }

  void ForwardLayer(int64_t index, LayerActivations<T>& layer,
                    Tensor<T>& next) const {
    const LayerOffsets& at = model.layout_.layer(index);
    const std::string block = absl::StrCat("blocks.", index, ".");
    const int64_t d = config.width;
    const int64_t head_columns = config.heads * config.head_width;
    const Tensor<T>& x = layer.resid_pre;
    Visit(block + "hook_resid_pre", ByPosition(layer.resid_pre));
    const Tensor<T>& input = Normalize(block + "ln1", x, at.norm1, layer.norm1);
    Resize(layer.qkv, {rows, qkv_width});
    engine.Multiply(input.view(), Weight(at.qkv, d, qkv_width),
                    layer.qkv.view(), {.bias = Bias(at.qkv_bias)});
    Visit(block + "attn.hook_q", Query(&layer.qkv[0]).Transpose(1, 2));
    Visit(block + "attn.hook_k", Key(&layer.qkv[0]).Transpose(1, 2));
    Visit(block + "attn.hook_v", Value(&layer.qkv[0]).Transpose(1, 2));
    if (config.smeared_keys) SmearKeys(at.smear, layer);
    if (config.positions == Positions::kRotary) RotateHeads(false, layer.qkv);
    Resize(layer.z, {rows, head_columns});
    Resize(layer.log_sum_exp, {batch, config.heads, positions});
    engine.AttentionForward(Inputs(layer.qkv),
                            {Output(&layer.z[0]), layer.log_sum_exp.view()});
    const std::string pattern_name = block + "attn.hook_pattern";
    if (Wants(pattern_name)) {
      Tensor<T> pattern = Pattern(layer.qkv);
      Visit(pattern_name, pattern.view());
      if (hooks->Edits(pattern_name)) MixByPattern(pattern, layer.qkv, layer.z);
    }
    Visit(block + "attn.hook_z", Output(&layer.z[0]).Transpose(1, 2));
    Tensor<T>& mid = config.mlp_width > 0 ? layer.resid_mid : next;
    AddBranch(block + "hook_attn_out", layer.z, Weight(at.out, head_columns, d),
              Bias(at.out_bias), x, mid);
    if (config.mlp_width == 0) {
      Visit(block + "hook_resid_post", ByPosition(next));
      return;
    }

    const int64_t m = config.mlp_width;
    Visit(block + "hook_resid_mid", ByPosition(mid));
    const Tensor<T>& mlp_input =
        Normalize(block + "ln2", mid, at.norm2, layer.norm2);
    Resize(layer.mlp_pre, {rows, m});
    Resize(layer.mlp_post, {rows, m});
    engine.Multiply(mlp_input.view(), Weight(at.mlp_in, d, m),
                    layer.mlp_pre.view(), {.bias = Bias(at.mlp_in_bias)});
    Visit(block + "mlp.hook_pre", ByPosition(layer.mlp_pre));
    engine.Map(config.activation == Activation::kGelu ? ArrayFunction::kGelu
                                                      : ArrayFunction::kRelu,
               &layer.mlp_pre[0], &layer.mlp_post[0], rows * m);
    Visit(block + "mlp.hook_post", ByPosition(layer.mlp_post));
    AddBranch(block + "hook_mlp_out", layer.mlp_post, Weight(at.mlp_out, m, d),
              Bias(at.mlp_out_bias), mid, next);
    Visit(block + "hook_resid_post", ByPosition(next));
  }

  StridedView<const T> Unembedding() const {
    const int64_t offset = model.layout_.unembedding();
    return config.tied
               ? Weight(offset, config.vocabulary, config.width).Transpose(0, 1)
               : Weight(offset, config.width, config.vocabulary);
  }

  // --- backward ---

  // d_x += the gradient through a norm of d_branch, dL/dy of the norm's
  // output; without a norm d_branch itself.
  void AddThroughNorm(int64_t offset, const NormActivations<T>& norm,
                      Tensor<T>& d_branch, T* gradient, Tensor<T>& d_x) const {
    if (offset >= 0) {
      T* d_weight = gradient + offset;
      for (int64_t row = 0; row < rows; ++row) {
        for (int64_t k = 0; k < config.width; ++k) {
          d_weight[k] =
              std::fma(d_branch(row, k), norm.normalized(row, k), d_weight[k]);
        }
      }
      if (config.norm == Norm::kLayer) {
        AddColumnSums<T>(d_branch.view(), d_weight + config.width);
      }
      engine.ForRows(rows, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          NormRowBackward(config.norm, &norm.normalized(row, 0),
                          norm.scale[row], weights + offset, &d_branch(row, 0),
                          config.width, &d_branch(row, 0));
        }
      });
    }
    engine.ForRows(rows, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin * config.width; i < end * config.width; ++i) {
        d_x[i] += d_branch[i];
      }
    });
  }

  void BackwardMlp(const LayerOffsets& at, const LayerActivations<T>& layer,
                   T* gradient, Tensor<T>& d_x) const {
    const int64_t d = config.width;
    const int64_t m = config.mlp_width;
    const StridedView<const T> d_out = std::as_const(d_x).view();
    // y = post W_out + b_out
    engine.Multiply(layer.mlp_post.view().Transpose(0, 1), d_out,
                    MutableMatrix(gradient + at.mlp_out, m, d));
    if (config.biases) AddColumnSums<T>(d_x.view(), gradient + at.mlp_out_bias);
    Tensor<T> d_mlp({rows, m});
    engine.Multiply(d_out, Weight(at.mlp_out, m, d).Transpose(0, 1),
                    d_mlp.view());
    // post = f(pre)
    Tensor<T> slope({rows, m});
    if (config.activation == Activation::kGelu) {
      engine.Map(ArrayFunction::kGeluSlope, &layer.mlp_pre[0], &slope[0],
                 rows * m);
    } else {
      for (int64_t i = 0; i < rows * m; ++i) {
        slope[i] = layer.mlp_pre[i] > 0 ? T{1} : T{0};
      }
    }
    for (int64_t i = 0; i < rows * m; ++i) d_mlp[i] *= slope[i];
    // pre = norm(x) W_in + b_in
    const Tensor<T>& input =
        at.norm2 < 0 ? layer.resid_mid : layer.norm2.output;
    engine.Multiply(input.view().Transpose(0, 1), std::as_const(d_mlp).view(),
                    MutableMatrix(gradient + at.mlp_in, d, m));
    if (config.biases)
      AddColumnSums<T>(d_mlp.view(), gradient + at.mlp_in_bias);
    Tensor<T> d_input({rows, d});
    engine.Multiply(std::as_const(d_mlp).view(),
                    Weight(at.mlp_in, d, m).Transpose(0, 1), d_input.view());
    AddThroughNorm(at.norm2, layer.norm2, d_input, gradient, d_x);
  }

  // k'_t = s k_t + (1 - s) k_(t - 1), k'_0 = k_0.
  void BackwardSmear(int64_t offset, const LayerActivations<T>& layer,
                     T* gradient, Tensor<T>& d_qkv) const {
    const int64_t width = config.head_width;
    const StridedView<T> d_key = Key(&d_qkv[0]);
    for (int64_t h = 0; h < config.key_heads; ++h) {
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
      gradient[offset + h] += d_share * share * (1 - share);
    }
  }

  void BackwardAttention(const LayerOffsets& at,
                         const LayerActivations<T>& layer, T* gradient,
                         Tensor<T>& d_x) const {
    const int64_t d = config.width;
    const int64_t head_columns = config.heads * config.head_width;
    const StridedView<const T> d_out = std::as_const(d_x).view();
    // y = z W_O + b_O
    engine.Multiply(layer.z.view().Transpose(0, 1), d_out,
                    MutableMatrix(gradient + at.out, head_columns, d));
    if (config.biases) AddColumnSums<T>(d_x.view(), gradient + at.out_bias);
    Tensor<T> d_z({rows, head_columns});
    engine.Multiply(d_out, Weight(at.out, head_columns, d).Transpose(0, 1),
                    d_z.view());
    // z = attention(q, k, v)
    Tensor<T> d_qkv({rows, qkv_width});
    // The engine reads the outputs only.
    auto& outputs = const_cast<LayerActivations<T>&>(layer);
    engine.AttentionBackward(
        Inputs(layer.qkv), {Output(&outputs.z[0]), outputs.log_sum_exp.view()},
        Output(&std::as_const(d_z)[0]),
        {Query(&d_qkv[0]), Key(&d_qkv[0]), Value(&d_qkv[0])});
    if (config.positions == Positions::kRotary) RotateHeads(true, d_qkv);
    if (config.smeared_keys) BackwardSmear(at.smear, layer, gradient, d_qkv);
    // qkv = norm(x) W_QKV + b_QKV
    const Tensor<T>& input =
        at.norm1 < 0 ? layer.resid_pre : layer.norm1.output;
    engine.Multiply(input.view().Transpose(0, 1), std::as_const(d_qkv).view(),
                    MutableMatrix(gradient + at.qkv, d, qkv_width));
    if (config.biases) AddColumnSums<T>(d_qkv.view(), gradient + at.qkv_bias);
    Tensor<T> d_input({rows, d});
    engine.Multiply(std::as_const(d_qkv).view(),
                    Weight(at.qkv, d, qkv_width).Transpose(0, 1),
                    d_input.view());
    AddThroughNorm(at.norm1, layer.norm1, d_input, gradient, d_x);
  }
};

template <typename T>
Transformer<T>::Transformer(const ModelConfig& config, const Engine<T>& engine)
    : layout_(config), engine_(engine) {
  if (config.positions == Positions::kRotary) {
    rotation_ = RotationTable<T>(config.context, config.head_width);
  }
  if (config.positions == Positions::kAlibi) {
    alibi_ = AlibiBias<T>(config.heads, config.context);
  }
}

template <typename T>
absl::Status Transformer<T>::Forward(absl::Span<const T> parameters,
                                     const Tensor<int32_t>& tokens,
                                     TransformerActivations<T>& activations,
                                     Hooks<T>* hooks) const {
  if (hooks != nullptr) {
    SOFTLOOKUP_RETURN_IF_ERROR(CheckHookNames(config(), hooks->Names()));
  }
  if (static_cast<int64_t>(parameters.size()) != layout_.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", parameters.size(),
                     " parameters; allowed: ", layout_.size()));
  }
  if (tokens.shape().size() != 2 || tokens.dim(0) < 1 || tokens.dim(1) < 1 ||
      tokens.dim(1) > config().context) {
    return absl::InvalidArgumentError(absl::StrCat(
        "tokens have shape ", ShapeString(tokens.shape()),
        "; allowed: [B, T], B at least 1, T from 1 to the context of ",
        config().context));
  }
  for (int64_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0 || tokens[i] >= config().vocabulary) {
      return absl::InvalidArgumentError(
          absl::StrCat("token ", tokens[i], " at element ", i,
                       "; allowed: 0 to ", config().vocabulary - 1));
    }
  }
  const int64_t d = config().width;
  const Pass pass(*this, parameters.data(), tokens.dim(0), tokens.dim(1),
                  hooks);
  activations.batch = pass.batch;
  activations.positions = pass.positions;
  activations.layers.resize(config().layers);

  Tensor<T>& x_0 = activations.layers[0].resid_pre;
  Resize(x_0, {pass.rows, d});
  const T* const embeddings = parameters.data() + layout_.embedding();
  for (int64_t row = 0; row < pass.rows; ++row) {
    std::copy_n(embeddings + tokens[row] * d, d, &x_0(row, 0));
  }
  pass.Visit("hook_embed", pass.ByPosition(x_0));
  if (layout_.positions() >= 0) {
    const T* table = parameters.data() + layout_.positions();
    Tensor<T> edited;
    if (pass.Wants("hook_pos_embed")) {
      // One for each sequence, so that each can be changed by itself.
      edited = Tensor<T>({pass.rows, d});
      for (int64_t row = 0; row < pass.rows; ++row) {
        std::copy_n(table + row % pass.positions * d, d, &edited(row, 0));
      }
      pass.Visit("hook_pos_embed", pass.ByPosition(edited));
    }
    for (int64_t row = 0; row < pass.rows; ++row) {
      const T* position = edited.size() > 0 ? &edited(row, 0)
                                            : table + row % pass.positions * d;
      for (int64_t k = 0; k < d; ++k) x_0(row, k) += position[k];
    }
  }
  for (int64_t i = 0; i < config().layers; ++i) {
    Tensor<T>& next = i + 1 < config().layers
                          ? activations.layers[i + 1].resid_pre
                          : activations.resid_final;
    pass.ForwardLayer(i, activations.layers[i], next);
  }
  const Tensor<T>& last =
      pass.Normalize("ln_final", activations.resid_final, layout_.final_norm(),
                     activations.final_norm);
  Resize(activations.logits, {pass.rows, config().vocabulary});
  engine_.Multiply(last.view(), pass.Unembedding(), activations.logits.view(),
                   {.bias = pass.Bias(layout_.unembedding_bias())});
  return absl::OkStatus();
}

template <typename T>
void Transformer<T>::Backward(absl::Span<const T> parameters,
                              const Tensor<int32_t>& tokens,
                              const TransformerActivations<T>& activations,
                              const StridedView<const T>& d_logits,
                              absl::Span<T> gradient) const {
  const int64_t d = config().width;
  const int64_t vocabulary = config().vocabulary;
  const Pass pass(*this, parameters.data(), activations.batch,
                  activations.positions);
  SOFTLOOKUP_CHECK(static_cast<int64_t>(parameters.size()) == layout_.size() &&
                       gradient.size() == parameters.size() &&
                       tokens.size() == pass.rows &&
                       d_logits.shape() == Shape({pass.rows, vocabulary}),
                   "what the forward pass had");
  std::fill(gradient.begin(), gradient.end(), T{0});
  T* const into = gradient.data();

  // logits = norm(x) W_U + b_U
  const Tensor<T>& last = layout_.final_norm() < 0
                              ? activations.resid_final
                              : activations.final_norm.output;
  if (config().tied) {
    engine_.Multiply(d_logits.Transpose(0, 1), last.view(),
                     MutableMatrix(into + layout_.embedding(), vocabulary, d));
  } else {
    engine_.Multiply(
        last.view().Transpose(0, 1), d_logits,
        MutableMatrix(into + layout_.unembedding(), d, vocabulary));
  }
  if (config().biases) {
    AddColumnSums(d_logits, into + layout_.unembedding_bias());
  }
  Tensor<T> d_last({pass.rows, d});
  engine_.Multiply(d_logits, pass.Unembedding().Transpose(0, 1), d_last.view());
  Tensor<T> d_x({pass.rows, d});
  pass.AddThroughNorm(layout_.final_norm(), activations.final_norm, d_last,
                      into, d_x);

  for (int64_t i = config().layers - 1; i >= 0; --i) {
    const LayerActivations<T>& layer = activations.layers[i];
    if (config().mlp_width > 0) {
      pass.BackwardMlp(layout_.layer(i), layer, into, d_x);
    }
    pass.BackwardAttention(layout_.layer(i), layer, into, d_x);
  }

  // x_0 = W_E[token] + W_pos[position]
  for (int64_t row = 0; row < pass.rows; ++row) {
    T* d_embedding = into + layout_.embedding() + tokens[row] * d;
    for (int64_t k = 0; k < d; ++k) d_embedding[k] += d_x(row, k);
    if (layout_.positions() < 0) continue;
    T* d_position = into + layout_.positions() + row % pass.positions * d;
    for (int64_t k = 0; k < d; ++k) d_position[k] += d_x(row, k);
  }
}

template class Transformer<float>;
template class Transformer<double>;

}  // namespace softlookup
