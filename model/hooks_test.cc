#include "model/hooks.h"

#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/random/random.h"
#include "base/tensor/shape.h"
#include "base/tensor/tensor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/transformer.h"

namespace softlookup {
namespace {

using ::testing::HasSubstr;

ModelConfig Everything() {
  ModelConfig config;
  config.n_heads = 4;
  config.n_key_value_heads = 2;
  config.d_model = 6;
  config.d_head = 4;
  config.d_mlp = 5;
  config.d_vocab = 7;
  config.n_ctx = 9;
  config.normalization_type = NormalizationType::kRms;
  config.final_norm = true;
  config.biases = true;
  return config;
}

// A model with random weights and two sequences.
template <typename T>
struct Fixture {
  explicit Fixture(const ModelConfig& config) : model(config) {
    RandomStream stream(1, "hooks_test");
    for (int64_t i = 0; i < model.layout().size(); ++i) {
      weights.push_back(static_cast<T>(
          stream.Gaussian() / std::sqrt(static_cast<double>(config.d_model))));
    }
    tokens = Tensor<int32_t>({2, 8});
    for (int64_t i = 0; i < tokens.size(); ++i) {
      tokens[i] = static_cast<int32_t>(
          stream.UniformInt(static_cast<uint32_t>(config.d_vocab)));
    }
  }
  Tensor<T> Logits(Hooks<T>* hooks = nullptr) {
    TransformerActivations<T> memory;
    const absl::Status status = model.Forward(weights, tokens, memory, hooks);
    EXPECT_TRUE(status.ok()) << status;
    return memory.logits;
  }
  Transformer<T> model;
  std::vector<T> weights;
  Tensor<int32_t> tokens;
};

std::vector<ModelConfig> Configs() {
  std::vector<ModelConfig> configs = {Everything(), ModelConfig()};
  configs.push_back(Everything());
  configs.back().positional_embedding_type = PositionalEmbeddingType::kAlibi;
  configs.push_back(Everything());
  configs.back().positional_embedding_type = PositionalEmbeddingType::kRotary;
  configs.back().smeared_keys = true;
  return configs;
}

TEST(Hooks, ReadingChangesNotOneBit) {
  for (const ModelConfig& config : Configs()) {
    Fixture<float> fixture(config);
    const Tensor<float> expected = fixture.Logits();
    const std::vector<std::string> names = HookNames(config);
    ActivationCache<float> cache({names.begin(), names.end()});
    EXPECT_EQ(fixture.Logits(&cache).elements(), expected.elements());
    for (const std::string& name : names) {
      EXPECT_GT(cache.at(name).size(), 0) << name;
    }
    EXPECT_EQ(cache.at("blocks.0.attn.hook_pattern").shape(),
              Shape({2, config.n_heads, 8, 8}));
    EXPECT_EQ(cache.at("blocks.1.attn.hook_z").shape(),
              Shape({2, 8, config.n_heads, config.d_head}));
    EXPECT_EQ(cache.at("blocks.1.attn.hook_k").shape(),
              Shape({2, 8, config.n_key_value_heads, config.d_head}));
  }
}

// What is read fits together: writes add up, patterns are weights, and the
// values mixed by them are z.
TEST(Hooks, WhatIsReadFitsTogether) {
  for (const ModelConfig& config : Configs()) {
    Fixture<double> fixture(config);
    const std::vector<std::string> names = HookNames(config);
    ActivationCache<double> cache({names.begin(), names.end()});
    fixture.Logits(&cache);
    const int64_t group = config.n_heads / config.n_key_value_heads;
    for (int64_t layer = 0; layer < config.n_layers; ++layer) {
      const auto at = [&](const std::string& name) -> const Tensor<double>& {
        return cache.at(absl::StrCat("blocks.", layer, ".", name));
      };
      Tensor<double> sum = at("hook_resid_pre");
      for (int64_t i = 0; i < sum.size(); ++i) {
        sum[i] += at("hook_attn_out")[i];
        if (config.d_mlp > 0) {
          EXPECT_NEAR(sum[i], at("hook_resid_mid")[i], 1e-13);
          sum[i] += at("hook_mlp_out")[i];
        }
        EXPECT_NEAR(sum[i], at("hook_resid_post")[i], 1e-13);
      }
      const Tensor<double>& pattern = at("attn.hook_pattern");
      for (int64_t b = 0; b < 2; ++b) {
        for (int64_t h = 0; h < config.n_heads; ++h) {
          for (int64_t i = 0; i < 8; ++i) {
            double total = 0;
            for (int64_t j = 0; j < 8; ++j) {
              total += pattern(b, h, i, j);
              if (j > i) {
                EXPECT_EQ(pattern(b, h, i, j), 0);
              }
            }
            EXPECT_NEAR(total, 1, 1e-14);
            for (int64_t k = 0; k < config.d_head; ++k) {
              double mixed = 0;
              for (int64_t j = 0; j < 8; ++j) {
                mixed +=
                    pattern(b, h, i, j) * at("attn.hook_v")(b, j, h / group, k);
              }
              EXPECT_NEAR(mixed, at("attn.hook_z")(b, i, h, k), 1e-13);
            }
          }
        }
      }
    }
  }
}

// An edit that puts back what was there changes nothing but rounding; one that
// does not, does.
TEST(Hooks, EveryPointCanBeEdited) {
  for (const ModelConfig& config : Configs()) {
    Fixture<double> fixture(config);
    const Tensor<double> expected = fixture.Logits();
    for (const std::string& name : HookNames(config)) {
      Interventions<double> nothing;
      nothing.Add(name, [](StridedView<double>) {});
      const Tensor<double> same = fixture.Logits(&nothing);
      Interventions<double> shift;
      shift.Add(name, [](StridedView<double> x) {
        double step = 0.3;
        ForEachElement([&](double& v) { v += step *= -0.9; }, x);
      });
      const Tensor<double> other = fixture.Logits(&shift);
      double largest = 0;
      for (int64_t i = 0; i < expected.size(); ++i) {
        EXPECT_NEAR(same[i], expected[i], 1e-12) << name;
        largest = std::max(largest, std::abs(other[i] - expected[i]));
      }
      EXPECT_GT(largest, 1e-8) << name;
    }
  }
}

// A head without an output is a head without W_O.
TEST(Hooks, ZeroingAHeadIsRemovingItsWeights) {
  Fixture<double> fixture(Everything());
  for (int64_t head = 0; head < 4; ++head) {
    Interventions<double> ablation;
    ablation.Add("blocks.1.attn.hook_z", [&](StridedView<double> z) {
      ForEachElement([](double& x) { x = 0; }, z.Slice(2, head, head + 1));
    });
    const Tensor<double> ablated = fixture.Logits(&ablation);
    const std::vector<double> kept = fixture.weights;
    const ParameterTensor& w_o =
        *fixture.model.layout().Find("blocks.1.attn.W_O");
    ForEachElement([](double& x) { x = 0; },
                   fixture.model.layout()
                       .View(w_o, fixture.weights.data())
                       .Slice(0, head, head + 1));
    const Tensor<double> removed = fixture.Logits();
    fixture.weights = kept;
    for (int64_t i = 0; i < removed.size(); ++i) {
      EXPECT_NEAR(ablated[i], removed[i], 1e-13);
    }
  }
}

// An activation of another run, put in its place, makes all later ones those of
// the other run.
TEST(Hooks, PatchingTheStreamIsTheOtherRun) {
  Fixture<double> fixture(Everything());
  const std::string name = "blocks.1.hook_resid_pre";
  const Tensor<int32_t> tokens = fixture.tokens;
  for (int64_t i = 0; i < fixture.tokens.size(); ++i) {
    fixture.tokens[i] = (fixture.tokens[i] + 3) % 7;
  }
  ActivationCache<double> other({name});
  const Tensor<double> expected = fixture.Logits(&other);
  fixture.tokens = tokens;
  Interventions<double> patch;
  patch.Add(name, [&](StridedView<double> x) {
    ForEachElement([](double& to, const double& from) { to = from; }, x,
                   other.at(name).view());
  });
  EXPECT_EQ(fixture.Logits(&patch).elements(), expected.elements());
}

TEST(Hooks, UnknownNamesAreRefused) {
  Fixture<float> fixture{ModelConfig()};
  ActivationCache<float> cache({"blocks.2.attn.hook_z"});
  TransformerActivations<float> memory;
  const absl::Status status =
      fixture.model.Forward(fixture.weights, fixture.tokens, memory, &cache);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("no activation is called \"blocks.2.attn.hook_z\" "
                        "here; allowed: hook_embed, hook_pos_embed, "));
  // No MLP, no hook of one.
  EXPECT_FALSE(CheckHookNames(ModelConfig(), {"blocks.0.mlp.hook_pre"}).ok());
  EXPECT_TRUE(CheckHookNames(Everything(), {"blocks.0.mlp.hook_pre"}).ok());
}

}  // namespace
}  // namespace softlookup
