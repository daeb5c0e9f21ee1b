#include "experiments/layer_cost/counts.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "attention/cost.h"
#include "base/random/random.h"
#include "base/status.h"
#include "base/tensor/matrix.h"
#include "base/tensor/tensor.h"
#include "experiments/layer_cost/sequence_layers.h"
#include "experiments/layer_cost/traced.h"

namespace softlookup {
namespace {

double Real(int64_t count) { return static_cast<double>(count); }

absl::StatusOr<CostPoint> Point(int64_t positions, int64_t width,
                                int64_t kernel) {
  const LayerShape shape = {
      .positions = positions, .width = width, .kernel = kernel};
  SOFTLOOKUP_ASSIGN_OR_RETURN(const LayerCost recurrent,
                              CountLayer(LayerKind::kRecurrent, shape));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const LayerCost attention,
                              CountLayer(LayerKind::kSelfAttention, shape));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const LayerCost convolution,
                              CountLayer(LayerKind::kConvolution, shape));
  return CostPoint{.positions = positions,
                   .width = width,
                   .recurrent_operations = recurrent.table_operations,
                   .attention_operations = attention.table_operations,
                   .convolution_operations = convolution.table_operations,
                   .ratio = Real(attention.table_operations) /
                            Real(recurrent.table_operations)};
}

absl::StatusOr<CostTable> MeasureTable(const CountOptions& options) {
  const int64_t k = options.kernel;
  const int64_t d = options.short_width;
  CostTable table;
  SOFTLOOKUP_ASSIGN_OR_RETURN(table.short_sequence,
                              Point(options.short_positions, d, k));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      table.long_context, Point(options.long_positions, options.long_width, k));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      table.long_doubled,
      Point(2 * options.long_positions, options.long_width, k));
  SOFTLOOKUP_ASSIGN_OR_RETURN(table.below, Point(d - 1, d, k));
  SOFTLOOKUP_ASSIGN_OR_RETURN(table.equal, Point(d, d, k));
  SOFTLOOKUP_ASSIGN_OR_RETURN(table.above, Point(d + 1, d, k));
  const CostPoint& once = table.long_context;
  const CostPoint& twice = table.long_doubled;
  table.equal_deviation = table.equal.ratio - 1;
  table.recurrent_growth =
      Real(twice.recurrent_operations) / Real(once.recurrent_operations);
  table.attention_growth =
      Real(twice.attention_operations) / Real(once.attention_operations);
  table.ratio_growth = twice.ratio / once.ratio;
  table.linearity_deviation = table.ratio_growth - 2;
  table.quadratic_deviation = table.attention_growth - 4;
  return table;
}

// The multiply-adds of a product of these sizes, counted by doing it.
int64_t CountProduct(int64_t rows, int64_t inner, int64_t columns,
                     RandomStream& stream) {
  Trace trace;
  Project(TracedTensor(GaussianMatrix(stream, rows, inner, 1), &trace),
          TracedTensor(GaussianMatrix(stream, inner, columns, 1), &trace));
  return trace.multiplications;
}

// The short layers, run. Scores are Q K^T and weighted sums P V.
ShortRun RunShortLayers(const CountOptions& options) {
  const int64_t t = options.short_positions;
  const int64_t d = options.short_width;
  RandomStream stream(options.seed, "counted layers");
  Trace recurrent;
  RecurrentStates(
      TracedTensor(GaussianMatrix(stream, d, d, 1 / std::sqrt(Real(d))),
                   &recurrent),
      TracedTensor(GaussianMatrix(stream, t, d, 1), &recurrent),
      std::vector<Traced>(d), Nonlinearity::kTanh);
  const int64_t scores = CountProduct(t, d, t, stream);
  const int64_t averages = CountProduct(t, t, d, stream);
  const int64_t projection = CountProduct(t, d, d, stream);
  Trace four;
  const Tensor<Traced> x = TracedTensor(GaussianMatrix(stream, t, d, 1), &four);
  const Tensor<Traced> w =
      TracedTensor(GaussianMatrix(stream, d, d, 1 / std::sqrt(Real(d))), &four);
  for (int role = 0; role < 4; ++role) Project(x, w);
  return {
      .recurrence = recurrent.multiplications,
      .scores = scores,
      .weighted_sums = averages,
      .one_projection = projection,
      .attention_projections = four.multiplications,
      .recurrence_deviation = recurrent.multiplications - t * d * d,
      .scores_deviation = scores - t * t * d,
      .weighted_sums_deviation = averages - t * t * d,
      .attention_projections_deviation = four.multiplications - 4 * t * d * d,
      .projection_minus_recurrence = projection - recurrent.multiplications,
      .ratio_deviation =
          Real(scores) / Real(recurrent.multiplications) - Real(t) / Real(d)};
}

// The longest chain of updates in a tensor of states.
int64_t LongestChain(const Tensor<Traced>& states) {
  int64_t longest = Traced::kUnreached;
  for (const Traced& state : states.elements()) {
    longest = std::max(longest, state.updates());
  }
  return longest;
}

absl::StatusOr<SequentialSteps> MeasureSequential(const CountOptions& options) {
  // The chain does not depend on the width; a small one keeps the run short.
  constexpr int64_t kWidth = 2;
  constexpr int64_t kSequences = 8;
  RandomStream stream(options.seed, "sequential steps");
  Trace trace;
  const Tensor<Traced> w =
      TracedTensor(GaussianMatrix(stream, kWidth, kWidth, 0.5), &trace);
  int64_t one = 0;
  int64_t together = 0;
  int64_t in_turn = 0;
  Tensor<Traced> x;
  for (int64_t s = 0; s < kSequences; ++s) {
    x = TracedTensor(GaussianMatrix(stream, options.sequence, kWidth, 1),
                     &trace, Traced::kSource);
    const int64_t steps = LongestChain(RecurrentStates(
        w, x, std::vector<Traced>(kWidth), Nonlinearity::kTanh));
    if (s == 0) one = steps;
    together = std::max(together, steps);
    in_turn += steps;
  }
  // Rows of attention read inputs only, so that a few stand for all: the
  // first, the last, and one in between.
  int64_t attention = 0;
  for (const int64_t row :
       {int64_t{0}, options.sequence / 2, options.sequence - 1}) {
    for (const Traced& component : AttentionRow(RowCopy(x, row), x, x)) {
      attention = std::max(attention, component.updates());
    }
  }
  const LayerShape shape = {.positions = options.sequence, .width = kWidth};
  SOFTLOOKUP_ASSIGN_OR_RETURN(const LayerCost recurrent_cost,
                              CountLayer(LayerKind::kRecurrent, shape));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const LayerCost attention_cost,
                              CountLayer(LayerKind::kSelfAttention, shape));
  return SequentialSteps{
      .positions = options.sequence,
      .recurrent = one,
      .sequences = kSequences,
      .recurrent_all_sequences_together = together,
      .recurrent_one_sequence_after_another = in_turn,
      .attention = attention,
      .recurrent_minus_formula = one - recurrent_cost.sequential_steps,
      .attention_minus_formula = attention - attention_cost.sequential_steps};
}

PathDeviations MeasurePaths(const CountOptions& options) {
  constexpr int64_t kWidth = 2;
  const int64_t positions = options.pairs_up_to;
  RandomStream stream(options.seed, "path lengths");
  Trace trace;
  const Tensor<double> inputs = GaussianMatrix(stream, positions, kWidth, 1);
  const Tensor<Traced> w =
      TracedTensor(GaussianMatrix(stream, kWidth, kWidth, 0.5), &trace);
  // Whole numbers, among which there is no NaN that a maximum could pass over.
  int64_t recurrent = 0;
  int64_t attention = 0;
  for (int64_t j = 0; j + 1 < positions; ++j) {
    // From the state at j through the positions after it.
    const Tensor<Traced> state =
        TracedTensor(Tensor<double>({1, kWidth}), &trace, Traced::kSource);
    const Tensor<Traced> later =
        TracedTensor(Copy(inputs.view().Slice(0, j + 1, positions)), &trace);
    const Tensor<Traced> states =
        RecurrentStates(w, later, RowCopy(state, 0), Nonlinearity::kTanh);
    for (int64_t t = j + 1; t < positions; ++t) {
      recurrent = std::max(recurrent,
                           std::abs(states(t - j - 1, 0).updates() - (t - j)));
    }
    Tensor<Traced> x = TracedTensor(inputs, &trace);
    for (int64_t i = 0; i < kWidth; ++i) {
      x(j, i) = Traced(inputs(j, i), &trace, Traced::kSource);
    }
    const Tensor<Traced> outputs = SelfAttention(x, x, x);
    for (int64_t t = j + 1; t < positions; ++t) {
      attention = std::max(attention, std::abs(outputs(t, 0).updates() - 1));
    }
  }
  return {
      .positions = positions, .recurrent = recurrent, .attention = attention};
}

absl::StatusOr<std::vector<PathLengths>> PathCurve(
    const CountOptions& options) {
  std::vector<PathLengths> curve;
  for (int64_t distance = 1; distance <= 1024; distance *= 2) {
    const LayerShape shape = {
        .positions = distance + 1, .width = 1, .kernel = options.kernel};
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        const PathLength recurrent,
        MaximumPathLength(LayerKind::kRecurrent, shape));
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        const PathLength attention,
        MaximumPathLength(LayerKind::kSelfAttention, shape));
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        const PathLength convolution,
        MaximumPathLength(LayerKind::kConvolution, shape));
    curve.push_back({.distance = distance,
                     .recurrent = recurrent.contiguous,
                     .attention = attention.contiguous,
                     .convolution = convolution.contiguous,
                     .dilated_convolution = convolution.dilated});
  }
  return curve;
}

absl::StatusOr<LayerTotals> Totals(LayerKind kind, const LayerShape& shape) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const LayerCost layer, CountLayer(kind, shape));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const TokenCost token, CountToken(kind, shape));
  return LayerTotals{.multiply_adds_with_projections =
                         (layer.mixing_flops + layer.projection_flops) / 2,
                     .memory_for_next_token = token.memory};
}

absl::StatusOr<CurvePoint> PointOfCurve(int64_t positions, int64_t width,
                                        int64_t kernel) {
  const LayerShape shape = {
      .positions = positions, .width = width, .kernel = kernel};
  CurvePoint point;
  SOFTLOOKUP_ASSIGN_OR_RETURN(static_cast<CostPoint&>(point),
                              Point(positions, width, kernel));
  SOFTLOOKUP_ASSIGN_OR_RETURN(point.recurrent,
                              Totals(LayerKind::kRecurrent, shape));
  SOFTLOOKUP_ASSIGN_OR_RETURN(point.attention,
                              Totals(LayerKind::kSelfAttention, shape));
  SOFTLOOKUP_ASSIGN_OR_RETURN(point.convolution,
                              Totals(LayerKind::kConvolution, shape));
  point.score_elements = positions * positions;
  return point;
}

absl::StatusOr<std::vector<CostCurve>> Curves(const CountOptions& options) {
  std::vector<CostCurve> curves;
  for (const int64_t width : {options.short_width, options.long_width}) {
    CostCurve& curve = curves.emplace_back();
    curve.width = width;
    for (int64_t positions = 16; positions <= 4 * options.long_positions;
         positions *= 2) {
      SOFTLOOKUP_ASSIGN_OR_RETURN(
          curve.points.emplace_back(),
          PointOfCurve(positions, width, options.kernel));
    }
  }
  return curves;
}

}  // namespace

absl::StatusOr<CountResults> MeasureCounts(const CountOptions& options) {
  CountResults counts;
  SOFTLOOKUP_ASSIGN_OR_RETURN(counts.table, MeasureTable(options));
  counts.run = RunShortLayers(options);
  SOFTLOOKUP_ASSIGN_OR_RETURN(counts.sequential, MeasureSequential(options));
  counts.path = MeasurePaths(options);
  SOFTLOOKUP_ASSIGN_OR_RETURN(counts.path_curve, PathCurve(options));
  SOFTLOOKUP_ASSIGN_OR_RETURN(counts.curves, Curves(options));
  return counts;
}

}  // namespace softlookup
