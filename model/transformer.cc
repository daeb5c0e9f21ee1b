#include "model/transformer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "base/tensor/shape.h"
#include "model/backward_pass.h"
#include "model/forward_pass.h"
#include "model/position_encoding.h"

namespace softlookup {

template <typename T>
Transformer<T>::Transformer(const ModelConfig& config, const Engine<T>& engine)
    : parts_{.layout = ParameterLayout(config),
             .engine = engine,
             .rotation = {},
             .alibi = {}} {
  if (config.positional_embedding_type == PositionalEmbeddingType::kRotary) {
    parts_.rotation = RotationTable<T>(config.n_ctx, config.d_head);
  }
  if (config.positional_embedding_type == PositionalEmbeddingType::kAlibi) {
    parts_.alibi = AlibiBias<T>(config.n_heads, config.n_ctx);
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
  if (static_cast<int64_t>(parameters.size()) != parts_.layout.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", parameters.size(),
                     " parameters; allowed: ", parts_.layout.size()));
  }
  if (tokens.shape().size() != 2 || tokens.dim(0) < 1 || tokens.dim(1) < 1 ||
      tokens.dim(1) > config().n_ctx) {
    return absl::InvalidArgumentError(absl::StrCat(
        "tokens have shape ", ShapeString(tokens.shape()),
        "; allowed: [B, T], B at least 1, T from 1 to the context of ",
        config().n_ctx));
  }
  for (int64_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0 || tokens[i] >= config().d_vocab) {
      return absl::InvalidArgumentError(
          absl::StrCat("token ", tokens[i], " at element ", i,
                       "; allowed: 0 to ", config().d_vocab - 1));
    }
  }
  const int64_t d = config().d_model;
  const int64_t positions = tokens.dim(1);
  const int64_t rows = tokens.dim(0) * positions;
  const ForwardPass<T> pass(parts_, parameters.data(), tokens.dim(0), positions,
                            hooks);
  activations.batch = tokens.dim(0);
  activations.positions = positions;
  activations.layers.resize(config().n_layers);

  Tensor<T>& x_0 = activations.layers[0].resid_pre;
  Resize(x_0, {rows, d});
  const T* const embeddings = parameters.data() + parts_.layout.embedding();
  parts_.engine.ForRows(rows, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      std::copy_n(embeddings + tokens[row] * d, d, &x_0(row, 0));
    }
  });
  pass.Visit("hook_embed", pass.ByPosition(x_0));
  if (parts_.layout.positions() >= 0) {
    const T* table = parameters.data() + parts_.layout.positions();
    Tensor<T> edited;
    if (pass.Wants("hook_pos_embed")) {
      // One for each sequence, so that each can be changed by itself.
      edited = Tensor<T>({rows, d});
      for (int64_t row = 0; row < rows; ++row) {
        std::copy_n(table + row % positions * d, d, &edited(row, 0));
      }
      pass.Visit("hook_pos_embed", pass.ByPosition(edited));
    }
    parts_.engine.ForRows(rows, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const T* position =
            edited.size() > 0 ? &edited(row, 0) : table + row % positions * d;
        T* x = &x_0(row, 0);
        for (int64_t k = 0; k < d; ++k) x[k] += position[k];
      }
    });
  }
  for (int64_t i = 0; i < config().n_layers; ++i) {
    Tensor<T>& next = i + 1 < config().n_layers
                          ? activations.layers[i + 1].resid_pre
                          : activations.resid_final;
    pass.Layer(i, activations.layers[i], next);
  }
  const Tensor<T>& last =
      pass.Normalize("ln_final", activations.resid_final,
                     parts_.layout.final_norm(), activations.final_norm);
  Resize(activations.logits, {rows, config().d_vocab});
  parts_.engine.Multiply(last.view(), pass.Unembedding(),
                         activations.logits.view(),
                         {.bias = pass.Bias(parts_.layout.unembedding_bias())});
  return absl::OkStatus();
}

template <typename T>
void Transformer<T>::Backward(absl::Span<const T> parameters,
                              const Tensor<int32_t>& tokens,
                              TransformerActivations<T>& activations,
                              const StridedView<const T>& d_logits,
                              absl::Span<T> gradient) const {
  const int64_t rows = activations.batch * activations.positions;
  SOFTLOOKUP_CHECK(
      static_cast<int64_t>(parameters.size()) == parts_.layout.size() &&
          gradient.size() == parameters.size() && tokens.size() == rows &&
          d_logits.shape() == Shape({rows, config().d_vocab}) &&
          d_logits.stride(1) == 1,
      "what the forward pass had");
  std::fill(gradient.begin(), gradient.end(), T{0});
  BackwardPass<T> pass(parts_, parameters.data(), activations, gradient.data());
  pass.Unembed(d_logits, activations);
  for (int64_t i = config().n_layers - 1; i >= 0; --i) {
    pass.Layer(i, activations.layers[i]);
  }
  pass.Embed(tokens);
}

template class Transformer<float>;
template class Transformer<double>;

}  // namespace softlookup
