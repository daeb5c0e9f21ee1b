#include "model/step_operations.h"

namespace softlookup {

StepOperations CountStepOperations(const ModelConfig& config, int64_t batch,
                                   int64_t positions) {
  const auto d = static_cast<double>(config.width);
  const auto head_width = static_cast<double>(config.head_width);
  const auto heads = static_cast<double>(config.heads);
  const auto key_heads = static_cast<double>(config.key_heads);
  const auto layers = static_cast<double>(config.layers);
  const double tokens =
      static_cast<double>(batch) * static_cast<double>(positions);
  // Queries, keys, values, output; the position-wise layer; the unembedding.
  const double weights =
      layers * (d * (2 * heads + 2 * key_heads) * head_width +
                2 * d * static_cast<double>(config.mlp_width)) +
      d * static_cast<double>(config.vocabulary);
  const double pairs = tokens * (static_cast<double>(positions) + 1) / 2;
  const double product = 2 * layers * heads * pairs * head_width;
  return {.forward = 2 * tokens * weights + 2 * product,
          .backward = 4 * tokens * weights + 5 * product};
}

}  // namespace softlookup
