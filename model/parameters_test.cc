#include "model/parameters.h"

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "base/tensor/shape.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

using ::testing::ElementsAre;

// Everything that a config can have.
ModelConfig Everything() {
  ModelConfig config;
  config.n_layers = 2;
  config.n_heads = 4;
  config.n_key_value_heads = 2;
  config.d_model = 6;
  config.d_head = 3;
  config.d_mlp = 5;
  config.d_vocab = 7;
  config.n_ctx = 8;
  config.normalization_type = NormalizationType::kLn;
  config.final_norm = true;
  config.biases = true;
  config.smeared_keys = true;
  return config;
}

// Names and shapes of TransformerLens (its HookedTransformer.state_dict()).
TEST(ParameterLayout, NamesAndShapes) {
  const ParameterLayout layout(Everything());
  const auto shape = [&](const std::string& name) {
    const ParameterTensor* tensor = layout.Find(name);
    return tensor == nullptr ? Shape() : tensor->layout.shape;
  };
  EXPECT_THAT(shape("embed.W_E"), ElementsAre(7, 6));
  EXPECT_THAT(shape("pos_embed.W_pos"), ElementsAre(8, 6));
  EXPECT_THAT(shape("blocks.0.ln1.w"), ElementsAre(6));
  EXPECT_THAT(shape("blocks.0.ln1.b"), ElementsAre(6));
  EXPECT_THAT(shape("blocks.0.attn.W_Q"), ElementsAre(4, 6, 3));
  EXPECT_THAT(shape("blocks.0.attn.W_K"), ElementsAre(2, 6, 3));
  EXPECT_THAT(shape("blocks.0.attn.W_V"), ElementsAre(2, 6, 3));
  EXPECT_THAT(shape("blocks.0.attn.W_O"), ElementsAre(4, 3, 6));
  EXPECT_THAT(shape("blocks.0.attn.b_Q"), ElementsAre(4, 3));
  EXPECT_THAT(shape("blocks.0.attn.b_K"), ElementsAre(2, 3));
  EXPECT_THAT(shape("blocks.0.attn.b_O"), ElementsAre(6));
  EXPECT_THAT(shape("blocks.1.attn.smear"), ElementsAre(2));
  EXPECT_THAT(shape("blocks.1.mlp.W_in"), ElementsAre(6, 5));
  EXPECT_THAT(shape("blocks.1.mlp.b_in"), ElementsAre(5));
  EXPECT_THAT(shape("blocks.1.mlp.W_out"), ElementsAre(5, 6));
  EXPECT_THAT(shape("ln_final.w"), ElementsAre(6));
  EXPECT_THAT(shape("unembed.W_U"), ElementsAre(6, 7));
  EXPECT_THAT(shape("unembed.b_U"), ElementsAre(7));
  EXPECT_EQ(layout.Find("blocks.2.attn.W_Q"), nullptr);
}

TEST(ParameterLayout, EveryElementIsInOneTensor) {
  for (const bool tied : {false, true}) {
    ModelConfig config = Everything();
    config.tied = tied;
    const ParameterLayout layout(config);
    std::vector<float> parameters(layout.size());
    for (const ParameterTensor& tensor : layout.tensors()) {
      ForEachElement([](float& x) { ++x; },
                     layout.View(tensor, parameters.data()));
    }
    EXPECT_EQ(parameters, std::vector<float>(layout.size(), 1));
    EXPECT_EQ(layout.Find("unembed.W_U") == nullptr, tied);
  }
}

// One row of the joint projection: the heads' queries, then keys, then values.
TEST(ParameterLayout, ProjectionsStandSideBySide) {
  const ParameterLayout layout(Everything());
  std::vector<float> parameters(layout.size());
  const auto set = [&](const std::string& name, int64_t head, float value) {
    layout.View(*layout.Find(name), parameters.data())(head, 1, 2) = value;
  };
  set("blocks.1.attn.W_Q", 3, 1);
  set("blocks.1.attn.W_K", 0, 2);
  set("blocks.1.attn.W_V", 1, 3);
  const float* row = &parameters[layout.layer(1).qkv] + 1 * 8 * 3;
  EXPECT_EQ(row[3 * 3 + 2], 1);
  EXPECT_EQ(row[4 * 3 + 2], 2);
  EXPECT_EQ(row[(4 + 2 + 1) * 3 + 2], 3);
}

TEST(InitializeParameters, DrawsByName) {
  ModelConfig config;
  const ParameterLayout two(config);
  std::vector<float> first(two.size());
  InitializeParameters(two, 1, absl::MakeSpan(first));
  double square = 0;
  for (const float x : first) square += static_cast<double>(x) * x;
  // Variance 1/64 over 45,056 draws: within 4 standard errors.
  const double n = static_cast<double>(first.size());
  EXPECT_NEAR(square / n * 64, 1, 4 * std::sqrt(2 / n));
  // Another seed gives others; another config the same where names agree.
  std::vector<float> second(two.size());
  InitializeParameters(two, 2, absl::MakeSpan(second));
  EXPECT_NE(first, second);
  config.normalization_type = NormalizationType::kRms;
  config.n_layers = 1;
  const ParameterLayout one(config);
  std::vector<float> other(one.size());
  InitializeParameters(one, 1, absl::MakeSpan(other));
  for (const std::string name : {"unembed.W_U", "blocks.0.attn.W_V"}) {
    std::vector<float> a;
    std::vector<float> b;
    ForEachElement([&](float x) { a.push_back(x); },
                   two.View(*two.Find(name), first.data()));
    ForEachElement([&](float x) { b.push_back(x); },
                   one.View(*one.Find(name), other.data()));
    EXPECT_EQ(a, b) << name;
  }
  EXPECT_EQ(one.View(*one.Find("blocks.0.ln1.w"), other.data())(5), 1);
}

}  // namespace
}  // namespace softlookup
