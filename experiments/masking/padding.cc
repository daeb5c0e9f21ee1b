#include "experiments/masking/padding.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "attention/attention.h"
#include "attention/mask.h"
#include "attention/reference/attention_reference.h"
#include "attention/testing/attention_problem.h"
#include "attention/textbook/hand_attention.h"
#include "attention/textbook/padded_batch.h"
#include "base/random/random.h"
#include "base/status.h"
#include "base/tensor/deviation.h"
#include "base/tensor/tensor.h"
#include "experiments/masking/token_loss.h"

namespace softlookup {
namespace {

absl::StatusOr<AttentionOutputs<double>> Forward(
    const AttentionInputs<double>& inputs) {
  AttentionOptions options;
  options.weights = true;
  return reference::AttentionForward(inputs, options);
}

// The largest weight that any query of the short sequence gives to a pad.
double LargestPadWeight(const Tensor<double>& weights,
                        const PaddedBatch& batch) {
  double largest = 0;
  for (int64_t h = 0; h < weights.dim(1); ++h) {
    for (int64_t i = 0; i < weights.dim(2); ++i) {
      for (int64_t j = 0; j < weights.dim(3); ++j) {
        if (batch.Real(j)) continue;
        largest = LargerOrNaN(largest, weights(PaddedBatch::kShort, h, i, j));
      }
    }
  }
  return largest;
}

// Rows without a visible key, over the batch (they are the same in each head).
int64_t CountBlindRows(const AttentionInputs<double>& inputs,
                       const AttentionSizes& sizes) {
  int64_t blind = 0;
  for (int64_t b = 0; b < sizes.batch; ++b) {
    for (int64_t i = 0; i < sizes.queries; ++i) {
      int64_t visible = 0;
      for (int64_t j = 0; j < sizes.keys; ++j) {
        visible += inputs.mask.Allows(b, 0, i, j, sizes);
      }
      blind += visible == 0;
    }
  }
  return blind;
}

absl::StatusOr<Json> MeasureSide(const AttentionProblem<double>& problem,
                                 const PaddedBatch& batch, bool causal) {
  const CausalAlignment alignment =
      causal ? CausalAlignment::kTopLeft : CausalAlignment::kNone;
  // What the short sequence gives with no padding about it.
  const AttentionProblem<double> alone = {Alone(problem.query, batch),
                                          Alone(problem.key, batch),
                                          Alone(problem.value, batch)};
  AttentionInputs<double> alone_inputs = alone.inputs();
  alone_inputs.mask.causal = alignment;
  SOFTLOOKUP_ASSIGN_OR_RETURN(const AttentionOutputs<double> expected,
                              Forward(alone_inputs));
  AttentionInputs<double> inputs = problem.inputs();
  inputs.mask.causal = alignment;
  Json side;
  for (const bool masked : {false, true}) {
    if (masked) batch.Mask(inputs.mask);
    SOFTLOOKUP_ASSIGN_OR_RETURN(const AttentionSizes sizes,
                                CheckAttention(inputs, {}));
    SOFTLOOKUP_ASSIGN_OR_RETURN(const AttentionOutputs<double> outputs,
                                Forward(inputs));
    Json measured;
    measured["largest_weight_on_pads"] =
        LargestPadWeight(*outputs.weights, batch);
    measured["difference_from_the_sequence_alone"] =
        LargestDifference(Alone(outputs.output, batch), expected.output);
    measured["rows_that_see_no_key"] = CountBlindRows(inputs, sizes);
    int64_t pad_rows = 0;
    int64_t pad_rows_with_output = 0;
    for (int64_t i = 0; i < batch.positions(); ++i) {
      if (batch.Real(i)) continue;
      ++pad_rows;
      pad_rows_with_output +=
          LargestMagnitude(
              Copy(outputs.output.view()
                       .Slice(0, PaddedBatch::kShort, PaddedBatch::kShort + 1)
                       .Slice(2, i, i + 1))) > 0;
    }
    measured["pad_queries"] = pad_rows;
    measured["pad_queries_with_an_output"] = pad_rows_with_output;
    side[masked ? "with_padding_mask" : "without"] = std::move(measured);
  }
  return side;
}

// Logits [2 T, V] from head outputs [2, H, T, D] by a random readout.
Tensor<double> Readout(uint64_t seed, const Tensor<double>& output,
                       int64_t vocabulary) {
  const int64_t rows = output.dim(0) * output.dim(2);
  const int64_t width = output.dim(1) * output.dim(3);
  Tensor<double> readout({1, 1, width, vocabulary});
  RandomStream(seed, "readout")
      .FillGaussian(absl::MakeSpan(readout.elements()));
  const Tensor<double> merged = Copy(output.view().Transpose(1, 2));
  Tensor<double> logits = BatchedProduct<double>(
      StridedView<const double>(merged.data(), {1, 1, rows, width}),
      std::as_const(readout).view());
  return Tensor<double>({rows, vocabulary}, std::move(logits.elements()));
}

// The largest gradient on the logits of pad positions.
double LargestPadGradient(const TokenLoss& loss, const PaddedBatch& batch) {
  double largest = 0;
  for (int64_t t = 0; t < batch.positions(); ++t) {
    if (batch.Real(t)) continue;
    const int64_t row = PaddedBatch::kShort * batch.positions() + t;
    largest = LargerOrNaN(
        largest, LargestMagnitude(
                     Copy(loss.logits_gradient.view().Slice(0, row, row + 1))));
  }
  return largest;
}

}  // namespace

absl::StatusOr<Json> MeasurePadding(uint64_t seed, const Shape& shape,
                                    int64_t short_length) {
  const AttentionProblem<double> problem = DrawProblem(seed, shape);
  Json padding;
  padding["lengths"] = {shape[2], short_length};
  for (const PaddingSide side : {PaddingSide::kRight, PaddingSide::kLeft}) {
    const PaddedBatch batch(shape[2], short_length, side);
    const std::string name = side == PaddingSide::kRight ? "right" : "left";
    SOFTLOOKUP_ASSIGN_OR_RETURN(padding[name]["causal"],
                                MeasureSide(problem, batch, true));
    SOFTLOOKUP_ASSIGN_OR_RETURN(padding[name]["bidirectional"],
                                MeasureSide(problem, batch, false));
  }
  return padding;
}

absl::StatusOr<Json> MeasurePaddedLoss(uint64_t seed, const Shape& shape,
                                       int64_t short_length) {
  constexpr int64_t kVocabulary = 11;
  constexpr int64_t kPadToken = 0;
  const PaddedBatch batch(shape[2], short_length, PaddingSide::kRight);
  const AttentionProblem<double> problem = DrawProblem(seed, shape);
  AttentionInputs<double> inputs = problem.inputs();
  inputs.mask.causal = CausalAlignment::kTopLeft;
  batch.Mask(inputs.mask);
  SOFTLOOKUP_ASSIGN_OR_RETURN(AttentionOutputs<double> outputs,
                              Forward(inputs));
  const Tensor<double> logits = Readout(seed, outputs.output, kVocabulary);
  // The same with the meaningless outputs of the pad queries changed.
  ForEachElement([](double& element) { element += 1; },
                 outputs.output.view()
                     .Slice(0, PaddedBatch::kShort, PaddedBatch::kShort + 1)
                     .Slice(2, batch.end(), batch.positions()));
  const Tensor<double> other_logits =
      Readout(seed, outputs.output, kVocabulary);

  RandomStream target_stream(seed, "targets");
  std::vector<int64_t> targets;
  for (int64_t n = 0; n < logits.dim(0); ++n) {
    targets.push_back(target_stream.UniformInt(kVocabulary));
  }
  Json result;
  for (const bool ignored : {true, false}) {
    std::vector<int64_t> these = targets;
    for (int64_t t = batch.end(); t < batch.positions(); ++t) {
      these[PaddedBatch::kShort * batch.positions() + t] =
          ignored ? kIgnoreIndex : kPadToken;
    }
    SOFTLOOKUP_ASSIGN_OR_RETURN(const TokenLoss loss,
                                CrossEntropy(logits, these, kIgnoreIndex));
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        const TokenLoss other, CrossEntropy(other_logits, these, kIgnoreIndex));
    Json measured;
    measured["positions_counted"] = loss.counted;
    measured["mean_loss"] = loss.mean;
    measured["largest_gradient_on_pad_logits"] =
        LargestPadGradient(loss, batch);
    measured["change_when_pad_outputs_change"] =
        std::abs(other.mean - loss.mean);
    result[ignored ? "pads_ignored" : "pads_counted"] = std::move(measured);
  }
  return result;
}

}  // namespace softlookup
