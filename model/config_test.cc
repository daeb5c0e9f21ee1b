#include "model/config.h"

#include <string>

#include "gtest/gtest.h"

namespace softlookup {
namespace {

std::string Error(const ModelConfig& config) {
  return std::string(CheckConfig(config).message());
}

TEST(ModelConfig, ThePublishedModelIsValid) {
  EXPECT_EQ(Error(ModelConfig()), "");
}

// Counted by hand from the tensors' shapes.
TEST(ModelConfig, ParameterCount) {
  // W_E and W_U 64 x 64, W_pos 64 x 64, per layer four of 64 x 64.
  EXPECT_EQ(ParameterCount(ModelConfig()), 3 * 4096 + 2 * 4 * 4096);
  ModelConfig config;
  config.n_layers = 1;
  config.n_heads = 3;
  config.n_key_value_heads = 1;
  config.d_model = 5;
  config.d_head = 2;
  config.d_mlp = 7;
  config.d_vocab = 11;
  config.n_ctx = 13;
  config.normalization_type = NormalizationType::kLn;
  config.final_norm = true;
  config.biases = true;
  config.smeared_keys = true;
  const int64_t attention = 5 * 6 + 2 * 5 * 2 + 6 * 5 + 6 + 2 * 2 + 5 + 1;
  const int64_t mlp = 5 * 7 + 7 + 7 * 5 + 5;
  const int64_t norms = 3 * 2 * 5;
  EXPECT_EQ(ParameterCount(config),
            11 * 5 + 13 * 5 + attention + mlp + norms + 5 * 11 + 11);
  config.tied = true;
  config.positional_embedding_type = PositionalEmbeddingType::kRotary;
  config.normalization_type = NormalizationType::kRms;
  EXPECT_EQ(ParameterCount(config), 11 * 5 + attention + mlp + norms / 2 + 11);
}

TEST(ModelConfig, ImpossibleShapesAreNamed) {
  ModelConfig config;
  config.n_layers = 0;
  EXPECT_EQ(Error(config), "n_layers is 0; allowed: 1 to 2147483648");
  config = {};
  config.d_mlp = -1;
  EXPECT_EQ(Error(config), "d_mlp is -1; allowed: 0 to 2147483648");
  config = {};
  config.n_heads = 4;
  config.n_key_value_heads = 3;
  EXPECT_EQ(Error(config),
            "n_key_value_heads is 3; allowed: a divisor of n_heads = 4");
  config = {};
  config.d_head = 257;
  EXPECT_EQ(Error(config), "d_head is 257; allowed: up to 256");
  config = {};
  config.d_head = 3;
  EXPECT_EQ(Error(config), "");
  config.positional_embedding_type = PositionalEmbeddingType::kRotary;
  EXPECT_EQ(Error(config),
            "d_head is 3 with rotary embedding, which turns pairs; "
            "allowed: an even number");
  config = {};
  config.final_norm = true;
  EXPECT_EQ(Error(config),
            "final_norm is true with normalization_type none; allowed: "
            "false, or normalization_type RMS or LN");
  config = {};
  config.d_vocab = config.d_model = int64_t{1} << 31;
  EXPECT_EQ(CheckConfig(config).code(), absl::StatusCode::kInvalidArgument);
  config = {};
  config.d_model = 1 << 15;
  config.d_vocab = 1 << 16;
  EXPECT_EQ(Error(config),
            "the model has 4313841664 parameters; allowed: up to 2147483648");
}

TEST(ModelConfig, JsonKeepsEveryField) {
  ModelConfig config;
  config.n_layers = 3;
  config.n_heads = 8;
  config.n_key_value_heads = 4;
  config.d_model = 48;
  config.d_head = 6;
  config.d_mlp = 100;
  config.d_vocab = 17;
  config.n_ctx = 33;
  config.act_fn = ActivationFunction::kRelu;
  config.normalization_type = NormalizationType::kRms;
  config.final_norm = true;
  config.positional_embedding_type = PositionalEmbeddingType::kAlibi;
  config.biases = true;
  config.tied = true;
  config.smeared_keys = true;
  const auto back = ConfigFromJson(ConfigToJson(config));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*back, config);
  // Every field differs from its default, so none can have been left out.
  const Json json = ConfigToJson(config);
  const Json defaults = ConfigToJson(ModelConfig());
  for (const auto& [name, value] : defaults.items()) {
    EXPECT_NE(json[name], value) << name;
  }
}

TEST(ModelConfig, JsonFromElsewhere) {
  const auto error = [](const Json& json) {
    return std::string(ConfigFromJson(json).status().message());
  };
  Json json = ConfigToJson({});
  json["layer"] = 2;
  EXPECT_EQ(error(json), "config has an unknown field \"layer\"");
  json = ConfigToJson({});
  json.erase("d_model");
  EXPECT_EQ(error(json), "config has no field \"d_model\"");
  json = ConfigToJson({});
  json["d_model"] = "wide";
  EXPECT_EQ(error(json),
            "config field \"d_model\" is \"wide\"; allowed: a value like 64");
  json = ConfigToJson({});
  json["normalization_type"] = "rms";
  EXPECT_EQ(error(json),
            "normalization_type is \"rms\"; allowed: none, RMS, LN");
  json = ConfigToJson({});
  json["n_heads"] = 3;
  EXPECT_EQ(error(json),
            "n_key_value_heads is 2; allowed: a divisor of n_heads = 3");
  EXPECT_EQ(error(Json::array()), "config is no JSON object");
}

}  // namespace
}  // namespace softlookup
