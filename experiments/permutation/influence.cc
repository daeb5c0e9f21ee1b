#include "experiments/permutation/influence.h"

#include <cmath>
#include <utility>
#include <vector>

#include "base/elementary.h"
#include "base/status.h"
#include "base/tensor/matrix.h"

namespace softlookup {
namespace {

// h_t = tanh(x_t W + h_{t-1} U), all states, [T, width].
Tensor<double> RecurrentStates(const Tensor<double>& tokens,
                               const Tensor<double>& in,
                               const Tensor<double>& recurrent) {
  Tensor<double> states({tokens.dim(0), in.dim(1)});
  const Tensor<double> inputs = MatrixProduct(tokens, in);
  for (int64_t t = 0; t < tokens.dim(0); ++t) {
    for (int64_t c = 0; c < in.dim(1); ++c) {
      double sum = inputs(t, c);
      for (int64_t e = 0; e < in.dim(1) && t > 0; ++e) {
        sum += states(t - 1, e) * recurrent(e, c);
      }
      states(t, c) = Tanh(sum);
    }
  }
  return states;
}

// The largest change in the rows from `begin` to before `end`.
double ChangeOfRows(const Tensor<double>& a, const Tensor<double>& b,
                    int64_t begin, int64_t end) {
  return LargestDifference(Copy(a.view().Slice(0, begin, end)),
                           Copy(b.view().Slice(0, begin, end)));
}

}  // namespace

InfluenceInputs DrawInfluence(RandomStream& stream, int64_t length) {
  const double scale = 1 / std::sqrt(static_cast<double>(kTokenWidth));
  InfluenceInputs inputs;
  inputs.tokens = DrawTokens(stream, length);
  inputs.layer = DrawLayer(stream);
  inputs.in = GaussianMatrix(stream, kTokenWidth, kTokenWidth, scale);
  inputs.recurrent = GaussianMatrix(stream, kTokenWidth, kTokenWidth, scale);
  inputs.other = DrawTokens(stream, 1);
  return inputs;
}

absl::StatusOr<Influence<double>> InfluenceOf(const InfluenceInputs& inputs) {
  const Tensor<double>& tokens = inputs.tokens;
  const int64_t length = tokens.dim(0);
  const int64_t last = length - 1;
  const auto replaced = [&](int64_t row) {
    Tensor<double> changed = tokens;
    for (int64_t c = 0; c < kTokenWidth; ++c) {
      changed(row, c) = inputs.other(0, c);
    }
    return changed;
  };
  const double size = ValueSize(inputs.layer, tokens);
  Influence<double> found;
  // The future: the last token is another one.
  const Tensor<double> states =
      RecurrentStates(tokens, inputs.in, inputs.recurrent);
  const Tensor<double> changed_states =
      RecurrentStates(replaced(last), inputs.in, inputs.recurrent);
  found.recurrent = ChangeOfRows(states, changed_states, 0, last);
  found.recurrent_on_last = ChangeOfRows(states, changed_states, last, length);
  for (const auto& [variant, effect] :
       {std::pair(Variant::kNoPositions, &found.attention_unmasked),
        std::pair(Variant::kCausal, &found.attention_causal)}) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(const HeadOutputs<double> before,
                                Attend(inputs.layer, variant, tokens));
    SOFTLOOKUP_ASSIGN_OR_RETURN(const HeadOutputs<double> after,
                                Attend(inputs.layer, variant, replaced(last)));
    *effect = ChangeOfRows(before.output, after.output, 0, last) / size;
  }
  // The routes: the first token is another one, and attention is left out.
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const HeadOutputs<double> before,
      Attend(inputs.layer, Variant::kNoPositions, tokens));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const HeadOutputs<double> after,
      Attend(inputs.layer, Variant::kNoPositions, replaced(0)));
  found.attention_on_others =
      ChangeOfRows(before.output, after.output, 1, length) / size;
  found.position_wise_on_others =
      ChangeOfRows(MatrixProduct(tokens, inputs.layer.value_matrix),
                   MatrixProduct(replaced(0), inputs.layer.value_matrix), 1,
                   length) /
      size;
  return found;
}

absl::StatusOr<InfluenceResults> MeasureInfluence(const PermutationDraws& draws,
                                                  int64_t length) {
  RandomStream stream(draws.seed, "influence");
  std::vector<Influence<double>> influences;
  for (int64_t n = 0; n < draws.draws; ++n) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(influences.emplace_back(),
                                InfluenceOf(DrawInfluence(stream, length)));
  }
  const auto over_draws = [&influences](double Influence<double>::*effect) {
    return MeanAndRangeOf(influences, effect);
  };
  using One = Influence<double>;
  return InfluenceResults{
      length,
      draws.draws,
      {over_draws(&One::recurrent), over_draws(&One::recurrent_on_last),
       over_draws(&One::attention_unmasked), over_draws(&One::attention_causal),
       over_draws(&One::attention_on_others),
       over_draws(&One::position_wise_on_others)}};
}

}  // namespace softlookup
