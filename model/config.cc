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

const NamedValues<Activation>& Activations() {
  static const auto& names = *new NamedValues<Activation>{
      {Activation::kRelu, "relu"}, {Activation::kGelu, "gelu"}};
  return names;
}

const NamedValues<Norm>& Norms() {
  static const auto& names = *new NamedValues<Norm>{
      {Norm::kNone, "none"}, {Norm::kRms, "rms"}, {Norm::kLayer, "layer"}};
  return names;
}

const NamedValues<Positions>& AllPositions() {
  static const auto& names =
      *new NamedValues<Positions>{{Positions::kNone, "none"},
                                  {Positions::kLearned, "learned"},
                                  {Positions::kRotary, "rotary"},
                                  {Positions::kAlibi, "alibi"}};
  return names;
}

// The fields that are numbers and those that are switches, by name: one list
// for checking, writing and reading.
template <typename Config>
auto Sizes(Config& config) {
  return std::array<std::pair<const char*, decltype(&config.layers)>, 8>{{
      {"layers", &config.layers},
      {"heads", &config.heads},
      {"key_heads", &config.key_heads},
      {"width", &config.width},
      {"head_width", &config.head_width},
      {"mlp_width", &config.mlp_width},
      {"vocabulary", &config.vocabulary},
      {"context", &config.context},
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

std::string ActivationName(Activation activation) {
  return NameOf(Activations(), activation);
}
std::string NormName(Norm norm) { return NameOf(Norms(), norm); }
std::string PositionsName(Positions positions) {
  return NameOf(AllPositions(), positions);
}

absl::StatusOr<Activation> ParseActivation(const std::string& text) {
  return ParseName(Activations(), "activation", text);
}
absl::StatusOr<Norm> ParseNorm(const std::string& text) {
  return ParseName(Norms(), "norm", text);
}
absl::StatusOr<Positions> ParsePositions(const std::string& text) {
  return ParseName(AllPositions(), "positions", text);
}

int64_t ParameterCount(const ModelConfig& config) {
  const int64_t d = config.width;
  const int64_t heads = config.heads;
  const int64_t key_heads = config.key_heads;
  const int64_t norm = config.norm == Norm::kNone  ? 0
                       : config.norm == Norm::kRms ? d
                                                   : 2 * d;
  const int64_t bias = config.biases ? 1 : 0;
  // Queries and output; keys and values.
  const int64_t projected = SaturatingSum(
      {SaturatingProduct({2, heads}), SaturatingProduct({2, key_heads})});
  const int64_t attention = SaturatingSum(
      {norm, SaturatingProduct({projected, d, config.head_width}),
       bias * SaturatingSum(
                  {SaturatingProduct({heads, config.head_width}),
                   SaturatingProduct({2, key_heads, config.head_width}), d}),
       config.smeared_keys ? key_heads : 0});
  const int64_t mlp =
      config.mlp_width == 0
          ? 0
          : SaturatingSum({norm, SaturatingProduct({2, d, config.mlp_width}),
                           bias * SaturatingSum({config.mlp_width, d})});
  return SaturatingSum(
      {SaturatingProduct({config.vocabulary, d}),
       config.positions == Positions::kLearned
           ? SaturatingProduct({config.context, d})
           : 0,
       SaturatingProduct({config.layers, SaturatingSum({attention, mlp})}),
       config.final_norm ? norm : 0,
       config.tied ? 0 : SaturatingProduct({d, config.vocabulary}),
       bias * config.vocabulary});
}

absl::Status CheckConfig(const ModelConfig& config) {
  for (const auto& [name, size] : Sizes(config)) {
    const int64_t least = size == &config.mlp_width ? 0 : 1;
    // What keeps every product of two sizes within an int64_t.
    if (*size < least || *size > kMaxParameters) {
      return absl::InvalidArgumentError(absl::StrCat(
          name, " is ", *size, "; allowed: ", least, " to ", kMaxParameters));
    }
  }
  if (config.heads % config.key_heads != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("key_heads is ", config.key_heads,
                     "; allowed: a divisor of heads = ", config.heads));
  }
  constexpr int64_t kMaxHeadWidth = 256;
  if (config.head_width > kMaxHeadWidth) {
    return absl::InvalidArgumentError(
        absl::StrCat("head_width is ", config.head_width, "; allowed: up to ",
                     kMaxHeadWidth));
  }
  if (config.positions == Positions::kRotary && config.head_width % 2 != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("head_width is ", config.head_width,
                     " with rotary positions, which turn pairs; allowed: an "
                     "even number"));
  }
  if (config.final_norm && config.norm == Norm::kNone) {
    return absl::InvalidArgumentError(
        "final_norm is true with norm none; allowed: false, or norm rms or "
        "layer");
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
  json["activation"] = ActivationName(config.activation);
  json["norm"] = NormName(config.norm);
  json["positions"] = PositionsName(config.positions);
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
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      config.activation,
      ParseActivation(json["activation"].get<std::string>()));
  SOFTLOOKUP_ASSIGN_OR_RETURN(config.norm,
                              ParseNorm(json["norm"].get<std::string>()));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      config.positions, ParsePositions(json["positions"].get<std::string>()));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckConfig(config));
  return config;
}

}  // namespace softlookup
