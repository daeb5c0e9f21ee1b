// How well a model continues repeated sequences, sequence by sequence.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(
//       const SequenceScores scores,
//       EvaluateSequences(model, weights, sequences, &ablation));
//   const Estimate accuracy = MeanEstimate(scores.accuracy);
//
// Errors of means over sequences say how well one model is known; they say
// nothing about other models of the kind.
#ifndef SOFTLOOKUP_INTERPRETABILITY_SEQUENCE_EVALUATION_H_
#define SOFTLOOKUP_INTERPRETABILITY_SEQUENCE_EVALUATION_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "interpretability/repeated_sequences.h"
#include "model/hooks.h"
#include "model/transformer.h"

namespace softlookup {

// Each [B]. Losses in nats per token, natural logarithm.
struct SequenceScores {
  std::vector<double> first_loss;   // where nothing says what follows
  std::vector<double> repeat_loss;  // where something does (Predictable)
  // Share of the predictable positions at which the target has the largest
  // logit.
  std::vector<double> accuracy;
  // Loss at the last kEdge predictions minus that at the first: the
  // in-context-learning score (Olsson et al. 2022, with other positions).
  std::vector<double> in_context;
  std::vector<double> loss;  // at all positions
};

// Predictions at either end that the in-context-learning score compares; no
// period of the published run is shorter.
inline constexpr int64_t kEdge = 8;

// Of sequences with more than kEdge positions, each of which has predictable
// and other ones. The errors of Transformer::Forward.
absl::StatusOr<SequenceScores> EvaluateSequences(
    const Transformer<float>& model, absl::Span<const float> weights,
    const RepeatedSequences& sequences, Hooks<float>* hooks = nullptr);

}  // namespace softlookup

#endif  // SOFTLOOKUP_INTERPRETABILITY_SEQUENCE_EVALUATION_H_
