// What the heads of a trained model look like: where each reads, and what
// its writes do to the logits.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(
//       const std::vector<TrainedHead> heads,
//       MeasureHeads(model, weights, sequences));
//
// These are descriptions. Which head does what is for an intervention to say.
#ifndef SOFTLOOKUP_INTERPRETABILITY_TRAINED_HEADS_H_
#define SOFTLOOKUP_INTERPRETABILITY_TRAINED_HEADS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/tensor/tensor.h"
#include "interpretability/repeated_sequences.h"
#include "model/config.h"
#include "model/hooks.h"
#include "model/transformer.h"

namespace softlookup {

struct TrainedHead {
  int64_t layer = 0;
  int64_t head = 0;
  // Per sequence, see head_scores.h.
  std::vector<double> prefix_matching;
  std::vector<double> previous_token;
  std::vector<double> duplicate_token;
  std::vector<double> copying;  // CopyingScore
  // Mean over the sequences of the attention from position i + 1 to i.
  std::vector<double> previous_by_position;
  double eigenvalue_copying = 0;  // EigenvalueCopyingScore
};

// In order of layer and head. The errors of Transformer::Forward.
absl::StatusOr<std::vector<TrainedHead>> MeasureHeads(
    const Transformer<float>& model, absl::Span<const float> weights,
    const RepeatedSequences& sequences);

// What `cache` has kept at every layer's hook_pattern, scored on the pass's
// tokens, [B, T].
std::vector<TrainedHead> ScorePatterns(const ModelConfig& config,
                                       const ActivationCache<float>& cache,
                                       const Tensor<int32_t>& tokens);

// Where the heads read, and nothing of what they write: the scores of patterns
// alone, in a fraction of the time.
absl::StatusOr<std::vector<TrainedHead>> MeasurePatterns(
    const Transformer<float>& model, absl::Span<const float> weights,
    const RepeatedSequences& sequences);

}  // namespace softlookup

#endif  // SOFTLOOKUP_INTERPRETABILITY_TRAINED_HEADS_H_
