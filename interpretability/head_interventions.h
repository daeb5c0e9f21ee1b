// What heads are for, by taking them away: the loss and accuracy of a trained
// model on repeated sequences while one of its heads, or one path between two,
// is cut.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(
//       const HeadInterventions interventions,
//       HeadInterventions::Make(model, weights, sequences));
//   SOFTLOOKUP_ASSIGN_OR_RETURN(const Json single,
//                               interventions.SingleHeads());
//   const HeadPair pair = ChooseHeads(single, model.config().n_layers);
//
// Every effect is a difference from the model as it is, sequence by sequence,
// with an error over the sequences.
#ifndef SOFTLOOKUP_INTERPRETABILITY_HEAD_INTERVENTIONS_H_
#define SOFTLOOKUP_INTERPRETABILITY_HEAD_INTERVENTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/json.h"
#include "base/tensor/tensor.h"
#include "interpretability/repeated_sequences.h"
#include "interpretability/sequence_evaluation.h"
#include "model/hooks.h"
#include "model/transformer.h"

namespace softlookup {

struct HeadName {
  int64_t layer = 0;
  int64_t head = 0;
  bool operator==(const HeadName&) const = default;
};

// {"layer", "head"}.
Json HeadNameJson(const HeadName& name);

// The two heads of the circuit, by what their ablation costs.
struct HeadPair {
  HeadName previous_token;
  HeadName induction;
};

// Of what SingleHeads found in a model of `layers` layers, two or more: the
// head before the last layer, and the head after it, whose zero ablation costs
// most on the predictable positions.
HeadPair ChooseHeads(const Json& single_heads, int64_t layers);

class HeadInterventions {
 public:
  // Runs the model as it is. All arguments must outlive the result. The model
  // must have two layers or more (checked). The errors of
  // Transformer::Forward.
  static absl::StatusOr<HeadInterventions> Make(
      const Transformer<float>& model, absl::Span<const float> weights,
      const RepeatedSequences& sequences);

  // The model as it is.
  const SequenceScores& clean() const { return clean_; }

  // {"first_loss", "repeat_loss", "accuracy", "loss_increase"}: estimates, the
  // last one of the repeat loss against the model as it is.
  Json EffectJson(const SequenceScores& scores) const;

  // [{"layer", "head", "zero", "mean", "resample", "pattern_preserving"}], an
  // effect each. Pattern-preserving: the head's output is 0, and every
  // layer mixes by the weights of the clean run.
  absl::StatusOr<Json> SingleHeads() const;

  // All heads of a layer at once, by zero: [{"layer", effect}].
  absl::StatusOr<Json> Layers() const;

  // The previous-token head's output is taken out of what only the keys, only
  // the queries, or only the values of the induction head's layer are computed
  // from: {"key", "query", "value"}, each with an effect and with
  // "prefix_matching", the estimate of the induction head's score.
  absl::StatusOr<Json> Paths(const HeadPair& pair) const;

  // Ideal patterns in place of the learned ones: {"previous_token",
  // "induction"}, each with the effects of the "ideal" pattern, of the same one
  // token "off", and of "zero" ablation, and with "recovered" and
  // "recovered_off", the shares of the loss that ablation costs which the two
  // patterns save. Those of induction go to all heads of the induction head's
  // layer, which share the work.
  absl::StatusOr<Json> IdealPatterns(const HeadPair& pair) const;

 private:
  HeadInterventions(const Transformer<float>& model,
                    absl::Span<const float> weights,
                    const RepeatedSequences& sequences)
      : model_(model), weights_(weights), sequences_(sequences) {}

  absl::StatusOr<SequenceScores> Scores(Hooks<float>& hooks) const;
  absl::StatusOr<Json> Effect(Hooks<float>& hooks) const;

  const Transformer<float>& model_;
  const absl::Span<const float> weights_;
  const RepeatedSequences& sequences_;
  SequenceScores clean_;
  std::vector<Tensor<float>> z_;         // hook_z by layer
  std::vector<Tensor<float>> patterns_;  // hook_pattern by layer
};

// Each position attends to the one `distance` before it, the first ones to the
// first; [B, T, T]. An ideal previous-token head at distance 1.
Tensor<float> IdealDistance(int64_t batch, int64_t positions, int64_t distance);

// Each position attends, in equal shares, to those that come `offset` after
// earlier copies of its token; where there are none, as `otherwise` [B, T, T]
// does. An ideal induction head at offset 1.
Tensor<float> IdealCopies(const Tensor<int32_t>& tokens, int64_t offset,
                          const Tensor<float>& otherwise);

// With all patterns frozen a model without norms and MLPs is
// linear in a head's output, and taking the head away subtracts exactly the
// terms of the expansion that contain it: its direct path, and those through
// the OV circuits of later layers. The largest difference between the logits
// of the ablated pass and of that subtraction, in double, over the largest
// logit; over all heads and the first `sequences` sequences.
absl::StatusOr<double> ExpansionDifference(const ModelConfig& config,
                                           absl::Span<const float> weights,
                                           const Tensor<int32_t>& tokens,
                                           int64_t sequences);

}  // namespace softlookup

#endif  // SOFTLOOKUP_INTERPRETABILITY_HEAD_INTERVENTIONS_H_
