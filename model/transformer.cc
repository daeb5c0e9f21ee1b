#include "model/transformer.h"

#include <algorithm>
#include <cmath>
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
void AddColumnSums(const Tensor<T>& x, T* total) {
  for (int64_t row = 0; row < x.dim(0); ++row) {
    for (int64_t k = 0; k < x.dim(1); ++k) total[k] += x(row, k);
  }
}

}  // namespace

// One forward or backward call: the parameters, the sizes, and the steps.
template <typename T>
struct Transformer<T>::Pass {
  Pass(const Transformer& transformer, const T* parameters, int64_t batch,
       int64_t positions)
      : model(transformer),
        config(transformer.config()),
        engine(transformer.engine_),
        weights(parameters),
        batch(batch),
        positions(positions),
        rows(batch * positions),
        qkv_width((config.heads + 2 * config.key_heads) * config.head_width) {}

  const Transformer& model;
  const ModelConfig& config;
  const Engine<T>& engine;
  const T* weights;
  const int64_t batch;
  const int64_t positions;
  const int64_t rows;
  const int64_t qkv_width;

  StridedView<const T> Weight(int64_t offset, int64_t n, int64_t m) const {
    return Matrix(weights + offset, n, m);
  }
  const T* Bias(int64_t offset) const {
    return offset < 0 ? nullptr : weights + offset;
  }

  // --- forward ---

  // The branch's input: x itself, or normalised.
  const Tensor<T>& Normalize(const Tensor<T>& x, int64_t offset,
                             NormActivations<T>& norm) const {
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

  void ForwardLayer(const LayerOffsets& at, const Tensor<T>& x,
                    LayerActivations<T>& layer, Tensor<T>& next) const {
    const int64_t d = config.width;
    const int64_t head_columns = config.heads * config.head_width;
    const Tensor<T>& input = Normalize(x, at.norm1, layer.norm1);
    Resize(layer.qkv, {rows, qkv_width});
    engine.Multiply(input.view(), Weight(at.qkv, d, qkv_width),
                    layer.qkv.view(), {.bias = Bias(at.qkv_bias)});
    if (config.smeared_keys) SmearKeys(at.smear, layer);
    if (config.positions == Positions::kRotary) RotateHeads(false, layer.qkv);
    Resize(layer.z, {rows, head_columns});
    Resize(layer.log_sum_exp, {batch, config.heads, positions});
    engine.AttentionForward(Inputs(layer.qkv),
                            {Output(&layer.z[0]), layer.log_sum_exp.view()});
    Tensor<T>& mid = config.mlp_width > 0 ? layer.resid_mid : next;
    mid = x;
    engine.Multiply(std::as_const(layer.z).view(),
                    Weight(at.out, head_columns, d), mid.view(),
                    {.accumulate = true, .bias = Bias(at.out_bias)});
    if (config.mlp_width == 0) return;

    const int64_t m = config.mlp_width;
    const Tensor<T>& mlp_input = Normalize(mid, at.norm2, layer.norm2);
    Resize(layer.mlp_pre, {rows, m});
    Resize(layer.mlp_post, {rows, m});
    engine.Multiply(mlp_input.view(), Weight(at.mlp_in, d, m),
                    layer.mlp_pre.view(), {.bias = Bias(at.mlp_in_bias)});
    engine.Map(config.activation == Activation::kGelu ? ArrayFunction::kGelu
                                                      : ArrayFunction::kRelu,
               &layer.mlp_pre[0], &layer.mlp_post[0], rows * m);
    next = mid;
    engine.Multiply(std::as_const(layer.mlp_post).view(),
                    Weight(at.mlp_out, m, d), next.view(),
                    {.accumulate = true, .bias = Bias(at.mlp_out_bias)});
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
        AddColumnSums(d_branch, d_weight + config.width);
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
    if (config.biases) AddColumnSums(d_x, gradient + at.mlp_out_bias);
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
    if (config.biases) AddColumnSums(d_mlp, gradient + at.mlp_in_bias);
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
    if (config.biases) AddColumnSums(d_x, gradient + at.out_bias);
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
    if (config.biases) AddColumnSums(d_qkv, gradient + at.qkv_bias);
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
absl::Status Transformer<T>::Forward(
    absl::Span<const T> parameters, const Tensor<int32_t>& tokens,
    TransformerActivations<T>& activations) const {
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
  const Pass pass(*this, parameters.data(), tokens.dim(0), tokens.dim(1));
  activations.batch = pass.batch;
  activations.positions = pass.positions;
  activations.layers.resize(config().layers);

  Tensor<T>& x_0 = activations.layers[0].resid_pre;
  Resize(x_0, {pass.rows, d});
  for (int64_t row = 0; row < pass.rows; ++row) {
    const T* embedding =
        parameters.data() + layout_.embedding() + tokens[row] * d;
    const int64_t position = row % pass.positions;
    for (int64_t k = 0; k < d; ++k) {
      x_0(row, k) = embedding[k];
      if (layout_.positions() >= 0) {
        x_0(row, k) += parameters[layout_.positions() + position * d + k];
      }
    }
  }
  for (int64_t i = 0; i < config().layers; ++i) {
    Tensor<T>& next = i + 1 < config().layers
                          ? activations.layers[i + 1].resid_pre
                          : activations.resid_final;
    pass.ForwardLayer(layout_.layer(i), activations.layers[i].resid_pre,
                      activations.layers[i], next);
  }
  const Tensor<T>& last = pass.Normalize(
      activations.resid_final, layout_.final_norm(), activations.final_norm);
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
    T* d_bias = into + layout_.unembedding_bias();
    for (int64_t row = 0; row < pass.rows; ++row) {
      for (int64_t v = 0; v < vocabulary; ++v) d_bias[v] += d_logits(row, v);
    }
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
