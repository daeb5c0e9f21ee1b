#include "interpretability/sequence_evaluation.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "base/tensor/tensor.h"
#include "gtest/gtest.h"
#include "interpretability/repeated_sequences.h"
#include "model/config.h"
#include "model/parameters.h"
#include "model/transformer.h"

namespace softlookup {
namespace {

constexpr int64_t kVocabulary = 5;
constexpr float kLogit = 2;

// A model without attention whose logits are kLogit for the token after its own
// (of 0 to 4, around) and 0 for the others.
struct Successor {
  Successor() : model(Config()), weights(model.layout().size()) {
    const auto matrix = [&](const char* name) {
      return model.layout().View(*model.layout().Find(name), weights.data());
    };
    for (int64_t v = 0; v < kVocabulary; ++v) {
      matrix("embed.W_E")(v, v) = 1;
      matrix("unembed.W_U")(v, (v + 1) % kVocabulary) = kLogit;
    }
  }
  static ModelConfig Config() {
    ModelConfig config;
    config.n_layers = 1;
    config.d_model = kVocabulary;
    config.d_head = 2;
    config.d_vocab = kVocabulary;
    config.n_ctx = 20;
    return config;
  }
  Transformer<float> model;
  std::vector<float> weights;
};

TEST(EvaluateSequences, SplitsLossesAndCountsHits) {
  const Successor successor;
  // One sequence of 12 tokens, all 0, so that target 1 is the model's guess.
  RepeatedSequences sequences;
  sequences.tokens = Tensor<int32_t>({1, 12});
  sequences.targets = {1, 0, 1, 0, 0, 0, 0, 0, 1, 1, 1, 3};
  sequences.predictable = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1};
  sequences.periods = {8};
  const auto scores =
      EvaluateSequences(successor.model, successor.weights, sequences);
  ASSERT_TRUE(scores.ok()) << scores.status();
  const double miss = std::log(std::exp(kLogit) + kVocabulary - 1);
  const double hit = miss - kLogit;
  // Hits at 0, 2, 8, 9, 10.
  EXPECT_NEAR(scores->first_loss[0], (2 * hit + 6 * miss) / 8, 1e-6);
  EXPECT_NEAR(scores->repeat_loss[0], (3 * hit + miss) / 4, 1e-6);
  EXPECT_EQ(scores->accuracy[0], 0.75);
  EXPECT_NEAR(scores->loss[0], (5 * hit + 7 * miss) / 12, 1e-6);
  // The last eight against the first eight: three hits against two.
  EXPECT_NEAR(scores->in_context[0], -kLogit / 8, 1e-6);
}

TEST(EvaluateSequences, KeepsSequencesApart) {
  const Successor successor;
  RepeatedSequences sequences;
  sequences.tokens = Tensor<int32_t>({2, 9});
  for (int64_t t = 0; t < 9; ++t) {
    for (int64_t b = 0; b < 2; ++b) {
      sequences.targets.push_back(0);
      sequences.predictable.push_back(0);
    }
  }
  // Only the second one's last target is what the model says.
  sequences.targets[17] = 1;
  sequences.predictable[8] = sequences.predictable[17] = 1;
  sequences.periods = {8, 8};
  const auto scores =
      EvaluateSequences(successor.model, successor.weights, sequences);
  ASSERT_TRUE(scores.ok()) << scores.status();
  EXPECT_EQ(scores->accuracy, (std::vector<double>{0, 1}));
  EXPECT_NEAR(scores->repeat_loss[0] - scores->repeat_loss[1], kLogit, 1e-6);
}

}  // namespace
}  // namespace softlookup
