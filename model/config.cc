#include "model/config.h"

#include <array>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/named_values.h"
#include "base/saturating.h"
#include "base/status.h"

namespace softlookup {
namespace {

const NamedValues<ActivationFunction>& ActivationFunctions() {
  static const auto& names = *new NamedValues<ActivationFunction>{
      {ActivationFunction::kRelu, "relu"}, {ActivationFunction::kGelu, "gelu"}};
  return names;
}

const NamedValues<NormalizationType>& NormalizationTypes() {
  static const auto& names =
      *new NamedValues<NormalizationType>{{NormalizationType::kNone, "none"},
                                          {NormalizationType::kRms, "RMS"},
                                          {NormalizationType::kLn, "LN"}};
  return names;
}

const NamedValues<PositionalEmbeddingType>& PositionalEmbeddingTypes() {
  static const auto& names = *new NamedValues<PositionalEmbeddingType>{
      {PositionalEmbeddingType::kNone, "none"},
      {PositionalEmbeddingType::kStandard, "standard"},
      {PositionalEmbeddingType::kRotary, "rotary"},
      {PositionalEmbeddingType::kAlibi, "alibi"}};
  return names;
}

// The fields that are numbers and those that are switches, by name: one list
// for checking, writing and reading.
template <typename Config>
auto Sizes(Config& config) {
  return std::array<std::pair<const char*, decltype(&config.n_layers)>, 8>{{
      {"n_layers", &config.n_layers},
      {"n_heads", &config.n_heads},
      {"n_key_value_heads", &config.n_key_value_heads},
      {"d_model", &config.d_model},
      {"d_head", &config.d_head},
      {"d_mlp", &config.d_mlp},
      {"d_vocab", &config.d_vocab},
      {"n_ctx", &config.n_ctx},
  }};
}

template <typename Config>
auto Switches(Config& config) {
  return std::array<std::pair<const char*, decltype(&config.biases)>, 4>{{
      {"final_norm", &config.final_norm},
      {"biases", &config.biases},
      {"tied", &config.tied},
      {"smeared_keys", &config.smeared_keys},
  }};
}

constexpr int64_t kMaxParameters = int64_t{1} << 31;

}  // namespace

absl::StatusOr<ActivationFunction> ParseActFn(const std::string& text) {
  return ParseName(ActivationFunctions(), "act_fn", text);
}
absl::StatusOr<NormalizationType> ParseNormalizationType(
    const std::string& text) {
  return ParseName(NormalizationTypes(), "normalization_type", text);
}
absl::StatusOr<PositionalEmbeddingType> ParsePositionalEmbeddingType(
    const std::string& text) {
  return ParseName(PositionalEmbeddingTypes(), "positional_embedding_type",
                   text);
}

int64_t ParameterCount(const ModelConfig& config) {
  const int64_t d = config.d_model;
  const int64_t heads = config.n_heads;
  const int64_t key_heads = config.n_key_value_heads;
  const int64_t norm = config.normalization_type == NormalizationType::kNone ? 0
                       : config.normalization_type == NormalizationType::kRms
                           ? d
                           : 2 * d;
  const int64_t bias = config.biases ? 1 : 0;
  // Queries and output; keys and values.
  const int64_t projected = SaturatingSum(
      {SaturatingProduct({2, heads}), SaturatingProduct({2, key_heads})});
  const int64_t attention = SaturatingSum(
      {norm, SaturatingProduct({projected, d, config.d_head}),
       bias *
           SaturatingSum({SaturatingProduct({heads, config.d_head}),
                          SaturatingProduct({2, key_heads, config.d_head}), d}),
       config.smeared_keys ? key_heads : 0});
  const int64_t mlp =
      config.d_mlp == 0
          ? 0
          : SaturatingSum({norm, SaturatingProduct({2, d, config.d_mlp}),
                           bias * SaturatingSum({config.d_mlp, d})});
  return SaturatingSum(
      {SaturatingProduct({config.d_vocab, d}),
       config.positional_embedding_type == PositionalEmbeddingType::kStandard
           ? SaturatingProduct({config.n_ctx, d})
           : 0,
       SaturatingProduct({config.n_layers, SaturatingSum({attention, mlp})}),
       config.final_norm ? norm : 0,
       config.tied ? 0 : SaturatingProduct({d, config.d_vocab}),
       bias * config.d_vocab});
}

absl::Status CheckConfig(const ModelConfig& config) {
  for (const auto& [name, size] : Sizes(config)) {
    const int64_t least = size == &config.d_mlp ? 0 : 1;
    // What keeps every product of two sizes within an int64_t.
    if (*size < least || *size > kMaxParameters) {
      return absl::InvalidArgumentError(absl::StrCat(
          name, " is ", *size, "; allowed: ", least, " to ", kMaxParameters));
    }
  }
  if (config.n_heads % config.n_key_value_heads != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("n_key_value_heads is ", config.n_key_value_heads,
                     "; allowed: a divisor of n_heads = ", config.n_heads));
  }
  constexpr int64_t kMaxHeadWidth = 256;
  if (config.d_head > kMaxHeadWidth) {
    return absl::InvalidArgumentError(absl::StrCat(
        "d_head is ", config.d_head, "; allowed: up to ", kMaxHeadWidth));
  }
  if (config.positional_embedding_type == PositionalEmbeddingType::kRotary &&
      config.d_head % 2 != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("d_head is ", config.d_head,
                     " with rotary embedding, which turns pairs; allowed: an "
                     "even number"));
  }
  if (config.final_norm &&
      config.normalization_type == NormalizationType::kNone) {
    return absl::InvalidArgumentError(
        "final_norm is true with normalization_type none; allowed: false, or "
        "normalization_type RMS or LN");
  }
  const int64_t parameters = ParameterCount(config);
  if (parameters > kMaxParameters) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model has ", parameters,
                     " parameters; allowed: up to ", kMaxParameters));
  }
  return absl::OkStatus();
}

Json ConfigToJson(const ModelConfig& config) {
  Json json = Json::object();
  for (const auto& [name, size] : Sizes(config)) json[name] = *size;
  json["act_fn"] = NameOf(ActivationFunctions(), config.act_fn);
  json["normalization_type"] =
      NameOf(NormalizationTypes(), config.normalization_type);
  json["positional_embedding_type"] =
      NameOf(PositionalEmbeddingTypes(), config.positional_embedding_type);
  for (const auto& [name, on] : Switches(config)) json[name] = *on;
  return json;
}

absl::StatusOr<ModelConfig> ConfigFromJson(const Json& json) {
  ModelConfig config;
  const Json known = ConfigToJson(config);
  if (!json.is_object()) {
    return absl::InvalidArgumentError("config is no JSON object");
  }
  for (const auto& [name, value] : json.items()) {
    if (!known.contains(name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("config has an unknown field \"", name, "\""));
    }
  }
  for (const auto& [name, value] : known.items()) {
    if (!json.contains(name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("config has no field \"", name, "\""));
    }
    const Json& given = json[name];
    const bool same_type = value.is_number() ? given.is_number_integer()
                                             : given.type() == value.type();
    if (!same_type) {
      return absl::InvalidArgumentError(
          absl::StrCat("config field \"", name, "\" is ", given.dump(),
                       "; allowed: a value like ", value.dump()));
    }
  }
  for (const auto& [name, size] : Sizes(config)) {
    *size = json[name].get<int64_t>();
  }
  for (const auto& [name, on] : Switches(config)) *on = json[name].get<bool>();
  SOFTLOOKUP_ASSIGN_OR_RETURN(config.act_fn,
                              ParseActFn(json["act_fn"].get<std::string>()));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      config.normalization_type,
      ParseNormalizationType(json["normalization_type"].get<std::string>()));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      config.positional_embedding_type,
      ParsePositionalEmbeddingType(
          json["positional_embedding_type"].get<std::string>()));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckConfig(config));
  return config;
}

}  // namespace softlookup
