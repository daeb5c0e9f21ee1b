#include "model/hooks.h"

#include <algorithm>

#include "absl/strings/str_join.h"

namespace softlookup {

std::vector<std::string> HookNames(const ModelConfig& config) {
  const bool norm = config.normalization_type != NormalizationType::kNone;
  std::vector<std::string> names = {"hook_embed"};
  if (config.positional_embedding_type == PositionalEmbeddingType::kStandard)
    names.push_back("hook_pos_embed");
  for (int64_t i = 0; i < config.n_layers; ++i) {
    const auto add = [&](const char* name) {
      names.push_back(absl::StrCat("blocks.", i, ".", name));
    };
    add("hook_resid_pre");
    if (norm) add("ln1.hook_normalized");
    add("attn.hook_q");
    add("attn.hook_k");
    add("attn.hook_v");
    add("attn.hook_pattern");
    add("attn.hook_z");
    add("hook_attn_out");
    if (config.d_mlp > 0) {
      add("hook_resid_mid");
      if (norm) add("ln2.hook_normalized");
      add("mlp.hook_pre");
      add("mlp.hook_post");
      add("hook_mlp_out");
    }
    add("hook_resid_post");
  }
  if (config.final_norm) names.push_back("ln_final.hook_normalized");
  return names;
}

absl::Status CheckHookNames(const ModelConfig& config,
                            const std::set<std::string>& names) {
  const std::vector<std::string> known = HookNames(config);
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("no activation is called \"", name,
                       "\" here; allowed: ", absl::StrJoin(known, ", ")));
    }
  }
  return absl::OkStatus();
}

}  // namespace softlookup
