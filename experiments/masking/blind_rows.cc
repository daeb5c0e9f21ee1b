#include "experiments/masking/blind_rows.h"

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "attention/attention.h"
#include "attention/mask.h"
#include "attention/reference/attention_reference.h"
#include "attention/softmax.h"
#include "attention/testing/attention_problem.h"
#include "attention/textbook/boolean_mask.h"
#include "attention/textbook/hand_attention.h"
#include "attention/textbook/padded_batch.h"
#include "attention/textbook/streaming_attention.h"
#include "base/elementary.h"
#include "base/status.h"
#include "base/tensor/deviation.h"
#include "base/tensor/tensor.h"

namespace softlookup {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLowest = std::numeric_limits<double>::lowest();

// How a residual layer x + attention(x, x, x) treats the mask.
enum class Treatment { kByHand, kZero, kLowestFinite, kSelfForPads, kZeroed };

// One head output [2, H, T, D] of attention over x under a boolean mask.
absl::StatusOr<Tensor<double>> Attend(const Tensor<double>& x,
                                      const PaddedBatch& batch,
                                      Treatment treatment) {
  BooleanMask mask = batch.Boolean(/*causal=*/true);
  if (treatment == Treatment::kZero) {
    AttentionInputs<double> inputs;
    inputs.query = inputs.key = inputs.value = x.view();
    inputs.mask.causal = CausalAlignment::kTopLeft;
    batch.Mask(inputs.mask);
    SOFTLOOKUP_ASSIGN_OR_RETURN(StreamingOutputs<double> outputs,
                                StreamingAttention(inputs, {}));
    return std::move(outputs.output);
  }
  if (treatment == Treatment::kSelfForPads) {
    for (int64_t i = 0; i < batch.positions(); ++i) {
      if (!batch.Real(i)) mask(PaddedBatch::kShort, 0, i, i) = 1;
    }
  }
  const Tensor<double> scores = HandScores<double>(x.view(), x.view());
  Tensor<double> weights =
      treatment == Treatment::kLowestFinite
          ? HandSoftmax(AddMask(scores, AdditiveMask(mask, kLowest)))
          : HandSoftmax(MaskedFill(scores, mask, -kInfinity));
  if (treatment == Treatment::kZeroed) {
    for (double& weight : weights.elements()) {
      if (std::isnan(weight)) weight = 0;
    }
  }
  return BatchedProduct<double>(std::as_const(weights).view(), x.view());
}

// Positions (of all batch entries) with a NaN in any head; of those, how many
// hold a token.
Json CountNaNPositions(const Tensor<double>& x, const PaddedBatch& batch) {
  int64_t positions = 0;
  int64_t tokens = 0;
  for (int64_t b = 0; b < x.dim(0); ++b) {
    for (int64_t t = 0; t < x.dim(2); ++t) {
      const bool bad =
          CountNaN(Copy(x.view().Slice(0, b, b + 1).Slice(2, t, t + 1))) > 0;
      positions += bad;
      tokens += bad && (b != PaddedBatch::kShort || batch.Real(t));
    }
  }
  return {{"positions", positions}, {"tokens", tokens}};
}

// NaN positions after each layer, and the short sequence's tokens against the
// same layers run on it alone.
absl::StatusOr<Json> RunLayers(const Tensor<double>& x,
                               const PaddedBatch& batch, int64_t layers,
                               Treatment treatment) {
  Tensor<double> stream = x;
  Tensor<double> alone = Alone(x, batch);
  Json nan_positions = Json::array();
  Json nan_tokens = Json::array();
  for (int64_t layer = 0; layer < layers; ++layer) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(const Tensor<double> write,
                                Attend(stream, batch, treatment));
    for (int64_t n = 0; n < stream.size(); ++n) stream[n] += write[n];
    const Json count = CountNaNPositions(stream, batch);
    nan_positions.push_back(count["positions"]);
    nan_tokens.push_back(count["tokens"]);
    const Tensor<double> read = alone;
    const Tensor<double> weights =
        HandSoftmax(MaskedFill(HandScores<double>(read.view(), read.view()),
                               CausalMask(batch.short_length()), -kInfinity));
    const Tensor<double> alone_write =
        BatchedProduct<double>(weights.view(), read.view());
    for (int64_t n = 0; n < alone.size(); ++n) alone[n] += alone_write[n];
  }
  Json run;
  run["nan_positions_by_layer"] = std::move(nan_positions);
  run["nan_tokens_by_layer"] = std::move(nan_tokens);
  run["nan_positions_after_first_layer"] =
      run["nan_positions_by_layer"].front();
  run["nan_tokens_after_first_layer"] = run["nan_tokens_by_layer"].front();
  run["nan_positions_after_last_layer"] = run["nan_positions_by_layer"].back();
  run["nan_tokens_after_last_layer"] = run["nan_tokens_by_layer"].back();
  run["tokens_against_the_sequence_alone"] =
      LargestDifference(Alone(stream, batch), alone);
  return run;
}

// Row 0 of head 0 of the short sequence, as a list.
Json FirstRow(const Tensor<double>& tensor) {
  Json row = Json::array();
  for (int64_t c = 0; c < tensor.dim(3); ++c) {
    row.push_back(tensor(PaddedBatch::kShort, 0, 0, c));
  }
  return row;
}

Tensor<double> FirstRowTensor(const Tensor<double>& tensor) {
  return Copy(tensor.view()
                  .Slice(0, PaddedBatch::kShort, PaddedBatch::kShort + 1)
                  .Slice(1, 0, 1)
                  .Slice(2, 0, 1));
}

// The average of all values of the short sequence, pads included, and of its
// tokens alone; head 0, [1, 1, 1, D].
Tensor<double> AverageValue(const Tensor<double>& value, int64_t begin,
                            int64_t end) {
  Tensor<double> average({1, 1, 1, value.dim(3)});
  for (int64_t c = 0; c < value.dim(3); ++c) {
    for (int64_t t = begin; t < end; ++t) {
      average[c] += value(PaddedBatch::kShort, 0, t, c);
    }
    average[c] /= static_cast<double>(end - begin);
  }
  return average;
}

template <typename T>
Json LowestTwice() {
  const T lowest = std::numeric_limits<T>::lowest();
  Json sums;
  sums["lowest"] = static_cast<double>(lowest);
  sums["sum_of_two"] = static_cast<double>(T(lowest + lowest));
  sums["sum_of_two_halves"] = static_cast<double>(T(lowest / 2 + lowest / 2));
  return sums;
}

}  // namespace

absl::StatusOr<Json> MeasureFullyMasked(uint64_t seed, const Shape& shape,
                                        int64_t short_length, int64_t layers) {
  const PaddedBatch batch(shape[2], short_length, PaddingSide::kLeft);
  // One tensor in all three roles, so that layers can be stacked.
  const Tensor<double> x = DrawProblem(seed, shape).value;
  Json result;
  result["layers"] = layers;
  const std::vector<std::pair<std::string, Treatment>> treatments = {
      {"by_hand", Treatment::kByHand},
      {"zero", Treatment::kZero},
      {"lowest_finite", Treatment::kLowestFinite},
      {"remedy_pads_see_themselves", Treatment::kSelfForPads},
      {"remedy_rows_set_to_zero", Treatment::kZeroed}};
  for (const auto& [name, treatment] : treatments) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(result[name],
                                RunLayers(x, batch, layers, treatment));
    SOFTLOOKUP_ASSIGN_OR_RETURN(const Tensor<double> output,
                                Attend(x, batch, treatment));
    const Tensor<double> row = FirstRowTensor(output);
    result[name]["row_output"] = FirstRow(output);
    result[name]["row_entries"] = row.size();
    result[name]["row_nan_entries"] = CountNaN(row);
    result[name]["row_largest_magnitude"] = LargestMagnitude(row);
    result[name]["row_against_average_of_all_values"] =
        LargestDifference(row, AverageValue(x, 0, batch.positions()));
    result[name]["row_against_average_of_tokens"] =
        LargestDifference(row, AverageValue(x, batch.begin(), batch.end()));
  }
  // The operator's own rule agrees with the streaming pass.
  AttentionInputs<double> inputs;
  inputs.query = inputs.key = inputs.value = x.view();
  inputs.mask.causal = CausalAlignment::kTopLeft;
  batch.Mask(inputs.mask);
  SOFTLOOKUP_ASSIGN_OR_RETURN(const AttentionOutputs<double> by_rule,
                              reference::AttentionForward(inputs, {}));
  result["zero"]["operator_row_largest_magnitude"] =
      LargestMagnitude(FirstRowTensor(by_rule.output));

  // Where the NaN comes from: every exponential of the row is 0, and so is
  // their sum. The last row, which sees tokens, beside it.
  const BooleanMask mask = batch.Boolean(/*causal=*/true);
  const Tensor<double> masked =
      MaskedFill(HandScores<double>(x.view(), x.view()), mask, -kInfinity);
  const auto sum_of_exponentials = [&masked, &batch](int64_t i) {
    double sum = 0;
    for (int64_t j = 0; j < batch.positions(); ++j) {
      sum += Exp(masked(PaddedBatch::kShort, 0, i, j));
    }
    return sum;
  };
  result["by_hand"]["row_sum_of_exponentials"] = sum_of_exponentials(0);
  result["by_hand"]["last_row_sum_of_exponentials"] =
      sum_of_exponentials(batch.positions() - 1);
  const std::vector<double> row_scores(batch.positions(), -kInfinity);
  int64_t nan_weights = 0;
  for (const double weight : SoftmaxWithoutMaximum<double>(row_scores)) {
    nan_weights += std::isnan(weight);
  }
  result["by_hand"]["row_nan_weights_without_maximum"] = nan_weights;

  // The weights that the lowest finite number gives, and what falls on pads,
  // in the row that sees pads only and in the last row, which sees tokens.
  const Tensor<double> weights = HandSoftmax(AddMask(
      HandScores<double>(x.view(), x.view()), AdditiveMask(mask, kLowest)));
  double on_pads = 0;
  double on_pads_in_last_row = 0;
  double deviation = 0;
  for (int64_t j = 0; j < batch.positions(); ++j) {
    const double weight = weights(PaddedBatch::kShort, 0, 0, j);
    deviation = LargerOrNaN(
        deviation,
        std::abs(weight - 1.0 / static_cast<double>(batch.positions())));
    if (batch.Real(j)) continue;
    on_pads += weight;
    on_pads_in_last_row +=
        weights(PaddedBatch::kShort, 0, batch.positions() - 1, j);
  }
  Json& lowest = result["lowest_finite"];
  lowest["row_weights"] = FirstRow(weights);
  lowest["row_weights_against_uniform"] = deviation;
  lowest["row_weight_on_pads"] = on_pads;
  lowest["last_row_weight_on_pads"] = on_pads_in_last_row;
  return result;
}

absl::StatusOr<Json> MeasureAddedMasks(uint64_t seed, const Shape& shape,
                                       int64_t short_length) {
  const PaddedBatch batch(shape[2], short_length, PaddingSide::kLeft);
  const Tensor<double> x = DrawProblem(seed, shape).value;
  const Tensor<double> scores = HandScores<double>(x.view(), x.view());
  const Tensor<double> causal =
      AdditiveMask<double>(CausalMask(shape[2]), kLowest);
  const Tensor<double> pad =
      AdditiveMask<double>(batch.Boolean(/*causal=*/false), kLowest);
  const Tensor<double> both =
      AdditiveMask<double>(batch.Boolean(/*causal=*/true), kLowest);
  const Tensor<double> once = AddMask(scores, both);
  // Masks are added to each other before the scores, as a program that
  // combines them does.
  const Tensor<double> zeros(scores.shape());
  const Tensor<double> sum = AddMask(AddMask(zeros, causal), pad);
  const Tensor<double> doubled = AddMask(AddMask(zeros, both), both);
  Json result;
  result["float64"] = LowestTwice<double>();
  result["float32"] = LowestTwice<float>();
  const auto describe = [](const Tensor<double>& masked) {
    const Tensor<double> row = FirstRowTensor(HandSoftmax(masked));
    int64_t infinite = 0;
    const Tensor<double> row_scores = FirstRowTensor(masked);
    for (const double score : row_scores.elements()) {
      infinite += score == -kInfinity;
    }
    return Json{{"row_weights", row.elements()},
                {"row_scores_at_minus_infinity", infinite},
                {"row_nan_weights", CountNaN(row)}};
  };
  result["one_combined_mask"] = describe(once);
  result["causal_plus_padding"] = describe(AddMask(scores, sum));
  result["combined_mask_added_twice"] = describe(AddMask(scores, doubled));
  return result;
}

}  // namespace softlookup
