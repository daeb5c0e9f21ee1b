// The shape of a transformer: one plain struct, every field a choice that
// experiments turn.
//
//   ModelConfig config;               // the published two-layer model
//   config.layers = 1;
//   SOFTLOOKUP_RETURN_IF_ERROR(CheckConfig(config));
//
// B sequences of T tokens; d the width of the residual stream, H query heads
// and Hkv key heads of width D, m the width of the position-wise layer, V the
// vocabulary.
#ifndef SOFTLOOKUP_MODEL_CONFIG_H_
#define SOFTLOOKUP_MODEL_CONFIG_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/json.h"

namespace softlookup {

// Of the position-wise layer.
enum class Activation {
  kRelu,
  kGelu,  // x Phi(x), by erf
};

// At the start of every branch, and before the unembedding with final_norm.
enum class Norm {
  kNone,
  kRms,    // x / sqrt(mean x^2 + 1e-5), times a weight
  kLayer,  // (x - mean) / sqrt(variance + 1e-5), times a weight plus a bias
};

// How the model knows where a token stands.
enum class Positions {
  kNone,
  kLearned,  // a vector per position, added to the embedding
  kRotary,   // queries and keys rotated by halves, base 10,000
  kAlibi,    // scores lowered by 2^(-8 (h + 1) / H) per position of distance
};

struct ModelConfig {
  int64_t layers = 2;
  int64_t heads = 2;        // query heads, H
  int64_t key_heads = 2;    // key and value heads, Hkv; divides H
  int64_t width = 64;       // of the residual stream, d
  int64_t head_width = 32;  // D
  int64_t mlp_width = 0;    // m; 0: attention only
  int64_t vocabulary = 64;  // V
  int64_t context = 64;     // the longest sequence
  Activation activation = Activation::kGelu;
  Norm norm = Norm::kNone;
  bool final_norm = false;  // the same norm before the unembedding
  Positions positions = Positions::kLearned;
  bool biases = false;  // on projections, position-wise layer, unembedding
  bool tied = false;    // the unembedding is the embedding, transposed
  // Each key head mixes a key with the one before it by a learned share, which
  // gives one layer what otherwise takes two (Olsson et al. 2022).
  bool smeared_keys = false;

  bool operator==(const ModelConfig&) const = default;
};

// InvalidArgument, naming the field, for sizes that are not positive or that do
// not divide, an odd head width with rotary positions, a final norm without a
// norm, and a model of more than 2^31 parameters.
absl::Status CheckConfig(const ModelConfig& config);

// The number of parameters of a config that passes CheckConfig.
int64_t ParameterCount(const ModelConfig& config);

// "relu", "gelu"; "none", "rms", "layer"; "none", "learned", "rotary", "alibi".
std::string ActivationName(Activation activation);
std::string NormName(Norm norm);
std::string PositionsName(Positions positions);
// InvalidArgument names what is allowed.
absl::StatusOr<Activation> ParseActivation(const std::string& text);
absl::StatusOr<Norm> ParseNorm(const std::string& text);
absl::StatusOr<Positions> ParsePositions(const std::string& text);

// All fields, by name.
Json ConfigToJson(const ModelConfig& config);
// InvalidArgument for a missing, unknown or mistyped field, and as CheckConfig.
absl::StatusOr<ModelConfig> ConfigFromJson(const Json& json);

}  // namespace softlookup

#endif  // SOFTLOOKUP_MODEL_CONFIG_H_
