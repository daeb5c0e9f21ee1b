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
  config.layers = 1;
  config.heads = 3;
  config.key_heads = 1;
  config.width = 5;
  config.head_width = 2;
  config.mlp_width = 7;
  config.vocabulary = 11;
  config.context = 13;
  config.norm = Norm::kLayer;
  config.final_norm = true;
  config.biases = true;
  config.smeared_keys = true;
  const int64_t attention = 5 * 6 + 2 * 5 * 2 + 6 * 5 + 6 + 2 * 2 + 5 + 1;
  const int64_t mlp = 5 * 7 + 7 + 7 * 5 + 5;
  const int64_t norms = 3 * 2 * 5;
  EXPECT_EQ(ParameterCount(config),
            11 * 5 + 13 * 5 + attention + mlp + norms + 5 * 11 + 11);
  config.tied = true;
  config.positions = Positions::kRotary;
  config.norm = Norm::kRms;
  EXPECT_EQ(ParameterCount(config), 11 * 5 + attention + mlp + norms / 2 + 11);
}

TEST(ModelConfig, ImpossibleShapesAreNamed) {
  ModelConfig config;
  config.layers = 0;
  EXPECT_EQ(Error(config), "layers is 0; allowed: 1 to 2147483648");
  config = {};
  config.mlp_width = -1;
  EXPECT_EQ(Error(config), "mlp_width is -1; allowed: 0 to 2147483648");
  config = {};
  config.heads = 4;
  config.key_heads = 3;
  EXPECT_EQ(Error(config), "key_heads is 3; allowed: a divisor of heads = 4");
  config = {};
  config.head_width = 257;
  EXPECT_EQ(Error(config), "head_width is 257; allowed: up to 256");
  config = {};
  config.head_width = 3;
  EXPECT_EQ(Error(config), "");
  config.positions = Positions::kRotary;
  EXPECT_EQ(Error(config),
            "head_width is 3 with rotary positions, which turn pairs; "
            "allowed: an even number");
  config = {};
  config.final_norm = true;
  EXPECT_EQ(Error(config),
            "final_norm is true with norm none; allowed: false, or norm rms "
            "or layer");
  config = {};
  config.vocabulary = config.width = int64_t{1} << 31;
  EXPECT_EQ(CheckConfig(config).code(), absl::StatusCode::kInvalidArgument);
  config = {};
  config.width = 1 << 15;
  config.vocabulary = 1 << 16;
  EXPECT_EQ(Error(config),
            "the model has 4313841664 parameters; allowed: up to 2147483648");
}

TEST(ModelConfig, JsonKeepsEveryField) {
  ModelConfig config;
  config.layers = 3;
  config.heads = 8;
  config.key_heads = 4;
  config.width = 48;
  config.head_width = 6;
  config.mlp_width = 100;
  config.vocabulary = 17;
  config.context = 33;
  config.activation = Activation::kRelu;
  config.norm = Norm::kRms;
  config.final_norm = true;
  config.positions = Positions::kAlibi;
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
  json.erase("width");
  EXPECT_EQ(error(json), "config has no field \"width\"");
  json = ConfigToJson({});
  json["width"] = "wide";
  EXPECT_EQ(error(json),
            "config field \"width\" is \"wide\"; allowed: a value like 64");
  json = ConfigToJson({});
  json["norm"] = "batch";
  EXPECT_EQ(error(json), "norm is \"batch\"; allowed: none, rms, layer");
  json = ConfigToJson({});
  json["heads"] = 3;
  EXPECT_EQ(error(json), "key_heads is 2; allowed: a divisor of heads = 3");
  EXPECT_EQ(error(Json::array()), "config is no JSON object");
}

}  // namespace
}  // namespace softlookup
