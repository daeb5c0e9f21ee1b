#include "interpretability/hand_weighted_transformer.h"

#include "base/check.h"
#include "model/config.h"
#include "model/parameters.h"

namespace softlookup {
namespace {

// The stream: the token, the position, the token before, the prediction.
ModelConfig Config(int64_t vocabulary, int64_t positions) {
  ModelConfig config;
  config.d_model = 3 * vocabulary + positions;
  config.d_head = positions;
  config.d_vocab = vocabulary;
  config.n_ctx = positions;
  return config;
}

// Large enough that a softmax over scores of 0 and this is one-hot.
constexpr float kSure = 40;

}  // namespace

HandWeightedTransformer::HandWeightedTransformer(int64_t vocabulary,
                                                 int64_t positions)
    : model(Config(vocabulary, positions)), weights(model.layout().size()) {
  SOFTLOOKUP_CHECK(positions >= vocabulary, "room for a token in a head");
  const int64_t token = 0;
  const int64_t position = vocabulary;
  const int64_t before = vocabulary + positions;
  const int64_t prediction = before + vocabulary;
  const auto embedding = Parameter("embed.W_E");
  const auto unembedding = Parameter("unembed.W_U");
  const auto w_q0 = Parameter("blocks.0.attn.W_Q");
  const auto w_k0 = Parameter("blocks.0.attn.W_K");
  const auto w_v0 = Parameter("blocks.0.attn.W_V");
  const auto w_o0 = Parameter("blocks.0.attn.W_O");
  const auto w_q1 = Parameter("blocks.1.attn.W_Q");
  const auto w_k1 = Parameter("blocks.1.attn.W_K");
  const auto w_v1 = Parameter("blocks.1.attn.W_V");
  const auto w_o1 = Parameter("blocks.1.attn.W_O");
  // Scores are divided by sqrt(head width).
  const float sure = kSure * static_cast<float>(positions);
  for (int64_t t = 0; t < positions; ++t) {
    Parameter("pos_embed.W_pos")(t, position + t) = 1;
    // The query at t asks for t - 1, the first for itself.
    w_q0(kPreviousHead, position + t, t == 0 ? 0 : t - 1) = sure;
    w_k0(kPreviousHead, position + t, t) = 1;
  }
  for (int64_t v = 0; v < vocabulary; ++v) {
    embedding(v, token + v) = 1;
    w_v0(kPreviousHead, token + v, v) = 1;
    w_o0(kPreviousHead, v, before + v) = 1;
    w_q1(kInductionHead, token + v, v) = sure;
    w_k1(kInductionHead, before + v, v) = 1;
    // The first position, which has none before it, attends to itself and is
    // not to be found.
    w_k1(kInductionHead, position, v) = -1;
    w_v1(kInductionHead, token + v, v) = 1;
    w_o1(kInductionHead, v, prediction + v) = 1;
    unembedding(prediction + v, v) = kSure;
  }
}

StridedView<float> HandWeightedTransformer::Parameter(const std::string& name) {
  const ParameterTensor* tensor = model.layout().Find(name);
  SOFTLOOKUP_CHECK(tensor != nullptr, "a parameter of the model");
  return model.layout().View(*tensor, weights.data());
}

}  // namespace softlookup
