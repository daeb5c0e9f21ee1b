// What one changed token does to the outputs of the others.
//
// A recurrent network carries nothing back: another last token changes no
// state before it. Attention does, unless the causal mask stands in the way.
// And attention is the only way from token to token: a map of each token alone
// carries nothing at all.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(
//       InfluenceResults found,
//       MeasureInfluence({.draws = 100, .seed = 1}, /*length=*/6));
//   found.effects.attention_causal.largest     // 0
//
// Effects of attention and of the map are relative to the largest component of
// the values; those of the recurrent network are of states in (-1, 1).
//
// Source: the chapter, section 1, on what must be added back.
#ifndef SOFTLOOKUP_EXPERIMENTS_PERMUTATION_INFLUENCE_H_
#define SOFTLOOKUP_EXPERIMENTS_PERMUTATION_INFLUENCE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "base/random/random.h"
#include "base/statistics/estimate.h"
#include "base/tensor/tensor.h"
#include "experiments/permutation/drawn_layer.h"

namespace softlookup {

// T >= 2 tokens with all that is applied to them.
struct InfluenceInputs {
  Tensor<double> tokens;  // [T, 8]
  Layer layer;
  Tensor<double> in;         // W of h_t = tanh(x_t W + h_{t-1} U), [8, 8]
  Tensor<double> recurrent;  // U, [8, 8]
  Tensor<double> other;      // the token that replaces one, [1, 8]
};
InfluenceInputs DrawInfluence(RandomStream& stream, int64_t length);

// The largest change of a component in one draw, or over the draws its mean and
// range: an Effect is a double or a MeanAndRange. NaN when a number is NaN.
template <typename Effect>
struct Influence {
  // Of another last token on the rows before it.
  Effect recurrent = {};
  Effect recurrent_on_last = {};  // the control: on its own row
  Effect attention_unmasked = {};
  Effect attention_causal = {};
  // Of another first token on the rows after it.
  Effect attention_on_others = {};
  Effect position_wise_on_others = {};  // of the values alone, not attended to
};

absl::StatusOr<Influence<double>> InfluenceOf(const InfluenceInputs& inputs);

struct InfluenceResults {
  int64_t length = 0;  // tokens
  int64_t draws = 0;
  Influence<MeanAndRange> effects;
};

absl::StatusOr<InfluenceResults> MeasureInfluence(const PermutationDraws& draws,
                                                  int64_t length);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_PERMUTATION_INFLUENCE_H_
