#include "experiments/saturation/rows.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "attention/attention.h"
#include "attention/reference/attention_reference.h"
#include "attention/softmax.h"
#include "base/check.h"
#include "base/elementary.h"
#include "base/random/random.h"
#include "base/statistics/estimate.h"
#include "base/status.h"
#include "base/tensor/deviation.h"

namespace softlookup {
namespace {

Tensor<double> Gaussians(const RandomRowsOptions& options,
                         const std::string& purpose, Shape shape) {
  // A stream per width, so that a sweep's widths can change without moving
  // each other's draws.
  RandomStream stream(options.seed, absl::StrCat("random rows, ", purpose,
                                                 ", width ", options.width));
  Tensor<double> tensor(std::move(shape));
  stream.FillGaussian(absl::MakeSpan(tensor.elements()));
  return tensor;
}

// Divides each run of `width` elements by its root mean square.
void DivideByRootMeanSquare(int64_t width, Tensor<double>& tensor) {
  for (int64_t start = 0; start < tensor.size(); start += width) {
    double square = 0;
    for (int64_t i = start; i < start + width; ++i) {
      square += tensor[i] * tensor[i];
    }
    const double root = std::sqrt(square / static_cast<double>(width));
    for (int64_t i = start; i < start + width; ++i) tensor[i] /= root;
  }
}

double Length(absl::Span<const double> vector) {
  double square = 0;
  for (const double element : vector) square += element * element;
  return std::sqrt(square);
}

double Entropy(absl::Span<const double> weights) {
  double entropy = 0;
  for (const double p : weights) {
    if (p != 0) entropy -= p * Log(p);  // a NaN too
  }
  return entropy;
}

// The largest |d_scores - J g|, over the largest |g|.
double ProductDeviation(absl::Span<const double> d_scores,
                        const Tensor<double>& jacobian,
                        absl::Span<const double> g) {
  Largest largest;
  Largest size;
  for (size_t i = 0; i < g.size(); ++i) {
    double product = 0;
    for (size_t j = 0; j < g.size(); ++j) product += jacobian(i, j) * g[j];
    largest.See(std::abs(d_scores[i] - product));
    size.See(std::abs(g[i]));
  }
  return largest.value() / size.value();
}

std::vector<double> RowScores(const RandomRows& rows, int64_t row,
                              double scale) {
  std::vector<double> scores;
  for (int64_t j = 0; j < rows.key.dim(2); ++j) {
    double product = 0;
    for (int64_t i = 0; i < rows.key.dim(3); ++i) {
      product += rows.query(row, 0, 0, i) * rows.key(row, 0, j, i);
    }
    scores.push_back(product * scale);
  }
  return scores;
}

void AddGaps(std::vector<double> scores, RowMeasures& measures) {
  std::sort(scores.begin(), scores.end());
  const double best = scores.back();
  scores.pop_back();
  measures.gap_to_runner_up.push_back(best - scores.back());
  double rest = 0;
  for (const double score : scores) {
    rest += score;
    measures.gap_to_each.push_back(best - score);
  }
  measures.gap_to_mean_rest.push_back(
      best - rest / static_cast<double>(scores.size()));
}

}  // namespace

RandomRows::RandomRows(const RandomRowsOptions& options)
    : query(Gaussians(options, "queries", {options.rows, 1, 1, options.width})),
      key(Gaussians(options, "keys",
                    {options.rows, 1, options.keys, options.width})),
      weight_gradient(Gaussians(options, "weight gradients",
                                {options.rows, 1, 1, options.keys})) {
  SOFTLOOKUP_CHECK(options.keys >= 2, "a best key and another");
}

RandomRows Normalised(RandomRows rows) {
  DivideByRootMeanSquare(rows.query.dim(3), rows.query);
  DivideByRootMeanSquare(rows.key.dim(3), rows.key);
  return rows;
}

RandomRows Enlarged(RandomRows rows, double factor) {
  for (double& element : rows.query.elements()) element *= factor;
  for (double& element : rows.key.elements()) element *= factor;
  return rows;
}

absl::StatusOr<RowMeasures> MeasureRows(const RandomRows& rows, double scale) {
  const int64_t count = rows.query.dim(0);
  const int64_t keys = rows.key.dim(2);
  const int64_t width = rows.key.dim(3);
  // With the identity for values, dL/dO is dL/dP. A bias of zeros changes
  // nothing and has dL/dS for its gradient.
  Tensor<double> identity({1, 1, keys, keys});
  for (int64_t j = 0; j < keys; ++j) identity(0, 0, j, j) = 1;
  const Tensor<double> bias({count, 1, 1, keys});
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const StridedView<const double> values,
      std::as_const(identity).view().BroadcastTo({count, 1, keys, keys}));
  AttentionInputs<double> inputs;
  inputs.query = rows.query.view();
  inputs.key = rows.key.view();
  inputs.value = values;
  inputs.bias = bias.view();
  const AttentionOptions options{.scale = scale, .weights = true};
  SOFTLOOKUP_ASSIGN_OR_RETURN(const AttentionOutputs<double> outputs,
                              reference::AttentionForward(inputs, options));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const AttentionGradients<double> gradients,
      reference::AttentionBackward(inputs, options,
                                   rows.weight_gradient.view()));

  RowMeasures measures;
  Largest product_deviation;
  for (int64_t row = 0; row < count; ++row) {
    const absl::Span<const double> p(&(*outputs.weights)(row, 0, 0, 0), keys);
    measures.largest_weight.push_back(*std::max_element(p.begin(), p.end()));
    measures.entropy.push_back(Entropy(p));
    measures.jacobian_trace.push_back(SoftmaxJacobianTrace<double>(p));
    const Tensor<double> jacobian = SoftmaxJacobian<double>(p);
    measures.jacobian_norm.push_back(Length(jacobian.elements()));
    const absl::Span<const double> d_scores(&(*gradients.bias)(row, 0, 0, 0),
                                            keys);
    measures.score_gradient.push_back(Length(d_scores));
    product_deviation.See(ProductDeviation(
        d_scores, jacobian, {&rows.weight_gradient(row, 0, 0, 0), p.size()}));
    measures.query_gradient.push_back(
        Length({&gradients.query(row, 0, 0, 0), static_cast<size_t>(width)}));
    std::vector<double> scores = RowScores(rows, row, scale);
    measures.scores.insert(measures.scores.end(), scores.begin(), scores.end());
    AddGaps(std::move(scores), measures);
  }
  measures.product_deviation = product_deviation.value();
  return measures;
}

namespace {

constexpr double kGap = 10;
constexpr int64_t kBins = 50;

MeanAndMedian Centre(const std::vector<double>& draws, int64_t blocks) {
  return {.mean = MeanEstimate(draws),
          .median = BlockEstimate(draws, blocks, Median)};
}

GapSummary SummariseGaps(const std::vector<double>& gaps, int64_t blocks) {
  return {Centre(gaps, blocks),
          BlockEstimate(gaps, blocks, [](absl::Span<const double> block) {
            return FractionAtLeast(block, kGap);
          })};
}

double RootMeanSquare(const std::vector<double>& values) {
  double square = 0;
  for (const double value : values) square += value * value;
  return std::sqrt(square / static_cast<double>(values.size()));
}

RowSummary Summarise(const RowMeasures& measures, int64_t blocks) {
  return {.score_deviation = RootMeanSquare(measures.scores),
          .largest_weight = Centre(measures.largest_weight, blocks),
          .entropy = Centre(measures.entropy, blocks),
          .jacobian_trace = Centre(measures.jacobian_trace, blocks),
          .score_gradient = Centre(measures.score_gradient, blocks)};
}

DetailedRowSummary SummariseInDetail(const RowMeasures& measures, int64_t keys,
                                     int64_t blocks) {
  return {
      Summarise(measures, blocks),
      CountDraws(measures.largest_weight, 0, 1, kBins),
      CountDraws(measures.entropy, 0, Log(static_cast<double>(keys)), kBins),
      Centre(measures.jacobian_norm, blocks),
      measures.product_deviation,
      Centre(measures.query_gradient, blocks),
      SummariseGaps(measures.gap_to_runner_up, blocks),
      SummariseGaps(measures.gap_to_mean_rest, blocks),
      SummariseGaps(measures.gap_to_each, blocks)};
}

MeanAndMedian Ratios(const std::vector<double>& unscaled,
                     const std::vector<double>& scaled, int64_t blocks) {
  return {.mean = BlockRatioEstimate(unscaled, scaled, blocks, Mean),
          .median = BlockRatioEstimate(unscaled, scaled, blocks, Median)};
}

GradientRatios CompareGradients(const RowMeasures& unscaled,
                                const RowMeasures& scaled, int64_t blocks) {
  return {.jacobian_norm =
              Ratios(unscaled.jacobian_norm, scaled.jacobian_norm, blocks),
          .score_gradient =
              Ratios(unscaled.score_gradient, scaled.score_gradient, blocks),
          .query_gradient =
              Ratios(unscaled.query_gradient, scaled.query_gradient, blocks)};
}

absl::StatusOr<std::vector<RowsAtWidth>> MeasureByWidth(
    const SaturationOptions& options) {
  std::vector<RowsAtWidth> by_width;
  for (int64_t width = 1; width <= options.largest_width; width *= 2) {
    const RandomRows rows({.rows = options.sweep_draws,
                           .keys = options.keys,
                           .width = width,
                           .seed = options.seed});
    SOFTLOOKUP_ASSIGN_OR_RETURN(const RowMeasures unscaled,
                                MeasureRows(rows, 1));
    SOFTLOOKUP_ASSIGN_OR_RETURN(const RowMeasures scaled,
                                MeasureRows(rows, AttentionScale({}, width)));
    by_width.push_back({.width = width,
                        .unscaled = Summarise(unscaled, options.blocks),
                        .scaled = Summarise(scaled, options.blocks),
                        .unscaled_over_scaled = CompareGradients(
                            unscaled, scaled, options.blocks)});
  }
  return by_width;
}

// How much less entropy each row has than the same row in `before`.
Estimate EntropyLost(const RowMeasures& before, const RowMeasures& after) {
  std::vector<double> lost;
  for (size_t i = 0; i < before.entropy.size(); ++i) {
    lost.push_back(before.entropy[i] - after.entropy[i]);
  }
  return MeanEstimate(lost);
}

absl::StatusOr<std::vector<EnlargedRows>> MeasureEnlarged(
    const SaturationOptions& options) {
  const RandomRows rows({.rows = options.sweep_draws,
                         .keys = options.keys,
                         .width = options.width,
                         .seed = options.seed});
  const double scale = AttentionScale({}, options.width);
  SOFTLOOKUP_ASSIGN_OR_RETURN(const RowMeasures as_drawn,
                              MeasureRows(rows, scale));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const RowMeasures normalised_as_drawn,
                              MeasureRows(Normalised(rows), scale));
  std::vector<EnlargedRows> enlarged;
  for (const auto& [name, factor] :
       {std::pair<std::string, double>{"halved", 0.5},
        {"doubled", 2},
        {"quadrupled", 4}}) {
    const RandomRows other = Enlarged(rows, factor);
    SOFTLOOKUP_ASSIGN_OR_RETURN(const RowMeasures plain,
                                MeasureRows(other, scale));
    SOFTLOOKUP_ASSIGN_OR_RETURN(const RowMeasures normalised,
                                MeasureRows(Normalised(other), scale));
    enlarged.push_back({.name = name,
                        .factor = factor,
                        .plain = Summarise(plain, options.blocks),
                        .qk_normalised = Summarise(normalised, options.blocks),
                        .entropy_lost = EntropyLost(as_drawn, plain),
                        .spread_growth = RootMeanSquare(plain.scores) /
                                         RootMeanSquare(as_drawn.scores),
                        .qk_normalised_spread_growth =
                            RootMeanSquare(normalised.scores) /
                            RootMeanSquare(normalised_as_drawn.scores)});
  }
  return enlarged;
}

}  // namespace

absl::StatusOr<SaturationRows> MeasureSaturation(
    const SaturationOptions& options) {
  const RandomRows rows({.rows = options.draws,
                         .keys = options.keys,
                         .width = options.width,
                         .seed = options.seed});
  const double scale = AttentionScale({}, options.width);
  SOFTLOOKUP_ASSIGN_OR_RETURN(const RowMeasures unscaled, MeasureRows(rows, 1));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const RowMeasures scaled,
                              MeasureRows(rows, scale));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const RowMeasures normalised,
                              MeasureRows(Normalised(rows), scale));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const RowMeasures uniform, MeasureRows(rows, 0));
  const auto in_detail = [&options](const RowMeasures& measures) {
    return SummariseInDetail(measures, options.keys, options.blocks);
  };
  SaturationRows found = {.uniform = Summarise(uniform, options.blocks),
                          .unscaled = in_detail(unscaled),
                          .scaled = in_detail(scaled),
                          .qk_normalised = in_detail(normalised),
                          .unscaled_over_scaled = CompareGradients(
                              unscaled, scaled, options.blocks)};
  SOFTLOOKUP_ASSIGN_OR_RETURN(found.by_width, MeasureByWidth(options));
  SOFTLOOKUP_ASSIGN_OR_RETURN(found.enlarged, MeasureEnlarged(options));
  return found;
}

}  // namespace softlookup
