#include "model/step_operations.h"

namespace softlookup {

StepOperations CountStepOperations(const ModelConfig& config, int64_t batch,
                                   int64_t positions) {
  const auto d = static_cast<double>(config.d_model);
  const auto head_width = static_cast<double>(config.d_head);
  const auto heads = static_cast<double>(config.n_heads);
  const auto key_heads = static_cast<double>(config.n_key_value_heads);
  const auto layers = static_cast<double>(config.n_layers);
  const double tokens =
      static_cast<double>(batch) * static_cast<double>(positions);
  // Queries, keys, values, output; the MLP; the unembedding.
  const double weights =
      layers * (d * (2 * heads + 2 * key_heads) * head_width +
                2 * d * static_cast<double>(config.d_mlp)) +
      d * static_cast<double>(config.d_vocab);
  const double pairs = tokens * (static_cast<double>(positions) + 1) / 2;
  const double product = 2 * layers * heads * pairs * head_width;
  return {.forward = 2 * tokens * weights + 2 * product,
          .backward = 4 * tokens * weights + 5 * product};
}

}  // namespace softlookup
