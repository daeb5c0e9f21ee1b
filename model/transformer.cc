#include "model/transformer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "base/tensor/shape.h"
#include "model/backward_pass.h"
#include "model/forward_pass.h"
#include "model/pass.h"

namespace softlookup {

template <typename T>
Transformer<T>::Transformer(const ModelConfig& config, const Engine<T>& engine)
    : parts_(config, engine) {}

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
  const Pass<T> pass(parts_, parameters.data(), tokens.dim(0), tokens.dim(1));
  ForwardPass<T> forward(pass, activations, hooks);
  forward.Embed(tokens);
  for (int64_t i = 0; i < config().n_layers; ++i) forward.Layer(i);
  forward.Unembed();
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
  const Pass<T> pass(parts_, parameters.data(), activations.batch,
                     activations.positions);
  BackwardPass<T> backward(pass, activations, gradient.data());
  backward.Unembed(d_logits);
  for (int64_t i = config().n_layers - 1; i >= 0; --i) backward.Layer(i);
  backward.Embed(tokens);
}

template class Transformer<float>;
template class Transformer<double>;

}  // namespace softlookup
