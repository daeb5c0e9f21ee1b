#include "attention/cudnn/visibility.h"

#include <algorithm>
#include <limits>

namespace softlookup::cudnn {
namespace {

// The keys that query i may see but for a bias or a boolean mask, [first, end).
struct Run {
  int64_t first = 0;
  int64_t end = 0;
};

Run KeysOf(const AttentionMask& mask, const AttentionSizes& sizes, int64_t b,
           int64_t i) {
  Run run = {0, sizes.keys};
  if (mask.causal == CausalAlignment::kTopLeft) {
    run.end = std::min(run.end, i + 1);
  }
  if (mask.causal == CausalAlignment::kBottomRight) {
    run.end = std::min(run.end, i + 1 + sizes.keys - sizes.queries);
  }
  if (!mask.key_lengths.empty())
    run.end = std::min(run.end, mask.key_lengths[b]);
  if (!mask.key_starts.empty()) run.first = mask.key_starts[b];
  return run;
}

}  // namespace

Visibility FindVisibility(const AttentionInputs<float>& inputs,
                          const AttentionSizes& sizes) {
  constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
  Visibility visible = {
      Tensor<uint8_t>({sizes.batch, sizes.query_heads, sizes.queries}),
      Tensor<uint8_t>({sizes.batch, sizes.key_heads, sizes.keys}),
      std::nullopt};
  const bool by_pair =
      inputs.bias.has_value() || inputs.mask.allowed.has_value();
  std::optional<StridedView<const float>> bias;
  Shape bias_shape;
  if (inputs.bias.has_value()) {
    bias_shape = inputs.bias->shape();
    visible.bias = Tensor<uint8_t>(bias_shape);
    bias = inputs.bias->BroadcastTo(sizes.ScoreShape()).value();
  }
  for (int64_t b = 0; b < sizes.batch; ++b) {
    for (int64_t h = 0; h < sizes.query_heads; ++h) {
      for (int64_t i = 0; i < sizes.queries; ++i) {
        const Run run = KeysOf(inputs.mask, sizes, b, i);
        if (run.first < run.end && !by_pair) visible.row(b, h, i) = 1;
        // Later queries see what earlier ones see, so the last sees all.
        if (!by_pair && i + 1 < sizes.queries) continue;
        for (int64_t j = run.first; j < run.end; ++j) {
          if (by_pair && !inputs.mask.Allows(b, h, i, j, sizes)) continue;
          if (bias.has_value() && (*bias)(b, h, i, j) == kMinusInfinity) {
            continue;
          }
          visible.row(b, h, i) = 1;
          visible.key(b, sizes.KeyHead(h), j) = 1;
          if (!visible.bias.has_value()) continue;
          (*visible.bias)(b % bias_shape[0], h % bias_shape[1],
                          i % bias_shape[2], j % bias_shape[3]) = 1;
        }
      }
    }
  }
  return visible;
}

}  // namespace softlookup::cudnn
