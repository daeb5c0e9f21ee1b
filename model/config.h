// The shape of a transformer: one plain struct, every field a choice that
// experiments turn.
//
//   ModelConfig config;               // the published two-layer model
//   config.n_layers = 1;
//   SOFTLOOKUP_RETURN_IF_ERROR(CheckConfig(config));
//
// Fields and values are named as in TransformerLens's HookedTransformerConfig.
//
// B sequences of T tokens; d = d_model, H = n_heads query heads and
// Hkv = n_key_value_heads key heads of width D = d_head, m = d_mlp, V =
// d_vocab.
#ifndef SOFTLOOKUP_MODEL_CONFIG_H_
#define SOFTLOOKUP_MODEL_CONFIG_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/json.h"

namespace softlookup {

// Of the MLP.
enum class ActivationFunction {
  kRelu,
  kGelu,  // x Phi(x), by erf
};

// At the start of every branch, and before the unembedding with final_norm.
enum class NormalizationType {
  kNone,
  kRms,  // x / sqrt(mean x^2 + 1e-5), times a weight
  kLn,   // (x - mean) / sqrt(variance + 1e-5), times a weight plus a bias
};

// How the model knows where a token stands.
enum class PositionalEmbeddingType {
  kNone,
  kStandard,  // a learned vector per position, added to the embedding
  kRotary,    // queries and keys rotated by halves, base 10,000
  kAlibi,     // scores lowered by 2^(-8 (h + 1) / H) per position of distance
};

struct ModelConfig {
  int64_t n_layers = 2;
  int64_t n_heads = 2;            // query heads, H
  int64_t n_key_value_heads = 2;  // Hkv; divides H
  int64_t d_model = 64;           // width of the residual stream, d
  int64_t d_head = 32;            // D
  int64_t d_mlp = 0;              // m; 0: attention only
  int64_t d_vocab = 64;           // V
  int64_t n_ctx = 64;             // the longest sequence
  ActivationFunction act_fn = ActivationFunction::kGelu;
  NormalizationType normalization_type = NormalizationType::kNone;
  bool final_norm = false;  // the same norm before the unembedding
  PositionalEmbeddingType positional_embedding_type =
      PositionalEmbeddingType::kStandard;
  bool biases = false;  // on projections, MLP, unembedding
  bool tied = false;    // the unembedding is the embedding, transposed
  // Each key head mixes a key with the one before it by a learned share, which
  // gives one layer what otherwise takes two (Olsson et al. 2022).
  bool smeared_keys = false;

  bool operator==(const ModelConfig&) const = default;
};

// InvalidArgument, naming the field, for sizes that are not positive or that do
// not divide, an odd d_head with rotary embedding, a final norm without a
// norm, and a model of more than 2^31 parameters.
absl::Status CheckConfig(const ModelConfig& config);

// The number of parameters of a config that passes CheckConfig.
int64_t ParameterCount(const ModelConfig& config);

// InvalidArgument names the field and what is allowed: "relu", "gelu"; "none",
// "RMS", "LN"; "none", "standard", "rotary", "alibi".
absl::StatusOr<ActivationFunction> ParseActFn(const std::string& text);
absl::StatusOr<NormalizationType> ParseNormalizationType(
    const std::string& text);
absl::StatusOr<PositionalEmbeddingType> ParsePositionalEmbeddingType(
    const std::string& text);

// All fields, by name.
Json ConfigToJson(const ModelConfig& config);
// InvalidArgument for a missing, unknown or mistyped field, and as CheckConfig.
absl::StatusOr<ModelConfig> ConfigFromJson(const Json& json);

}  // namespace softlookup

#endif  // SOFTLOOKUP_MODEL_CONFIG_H_
