#include "experiments/saturation/rows.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "attention/attention.h"
#include "base/elementary.h"
#include "base/statistics/estimate.h"
#include "base/status.h"
#include "base/tensor/deviation.h"
#include "experiments/saturation/random_rows.h"

namespace softlookup {
namespace {

constexpr double kGap = 10;
constexpr int64_t kBins = 50;

Json MeanAndMedian(const std::vector<double>& draws, int64_t blocks) {
  return {{"mean", EstimateJson(MeanEstimate(draws))},
          {"median", EstimateJson(BlockEstimate(draws, blocks, Median))}};
}

Json GapJson(const std::vector<double>& gaps, int64_t blocks) {
  Json json = MeanAndMedian(gaps, blocks);
  json["fraction_at_least_10"] = EstimateJson(
      BlockEstimate(gaps, blocks, [](absl::Span<const double> block) {
        return FractionAtLeast(block, kGap);
      }));
  return json;
}

double RootMeanSquare(const std::vector<double>& values) {
  double square = 0;
  for (const double value : values) square += value * value;
  return std::sqrt(square / static_cast<double>(values.size()));
}

Json BriefSummary(const RowMeasures& measures, int64_t blocks) {
  return {{"score_deviation", RootMeanSquare(measures.scores)},
          {"largest_weight", MeanAndMedian(measures.largest_weight, blocks)},
          {"entropy", MeanAndMedian(measures.entropy, blocks)},
          {"jacobian_trace", MeanAndMedian(measures.jacobian_trace, blocks)},
          {"score_gradient", MeanAndMedian(measures.score_gradient, blocks)}};
}

Json FullSummary(const RowMeasures& measures, int64_t keys, int64_t blocks) {
  Json json = BriefSummary(measures, blocks);
  json["largest_weight"]["histogram"] =
      HistogramJson(measures.largest_weight, 0, 1, kBins);
  json["entropy"]["histogram"] =
      HistogramJson(measures.entropy, 0, Log(static_cast<double>(keys)), kBins);
  json["jacobian_norm"] = MeanAndMedian(measures.jacobian_norm, blocks);
  Largest product_deviation;
  for (const double deviation : measures.product_deviation) {
    product_deviation.See(deviation);
  }
  json["product_deviation"] = product_deviation.value();
  json["query_gradient"] = MeanAndMedian(measures.query_gradient, blocks);
  json["gap_to_runner_up"] = GapJson(measures.gap_to_runner_up, blocks);
  json["gap_to_mean_rest"] = GapJson(measures.gap_to_mean_rest, blocks);
  json["gap_to_each"] = GapJson(measures.gap_to_each, blocks);
  return json;
}

Json Ratios(const std::vector<double>& unscaled,
            const std::vector<double>& scaled, int64_t blocks) {
  return {{"mean",
           EstimateJson(BlockRatioEstimate(unscaled, scaled, blocks, Mean))},
          {"median",
           EstimateJson(BlockRatioEstimate(unscaled, scaled, blocks, Median))}};
}

Json GradientRatios(const RowMeasures& unscaled, const RowMeasures& scaled,
                    int64_t blocks) {
  return {{"jacobian_norm",
           Ratios(unscaled.jacobian_norm, scaled.jacobian_norm, blocks)},
          {"score_gradient",
           Ratios(unscaled.score_gradient, scaled.score_gradient, blocks)},
          {"query_gradient",
           Ratios(unscaled.query_gradient, scaled.query_gradient, blocks)}};
}

absl::StatusOr<Json> MeasureByWidth(const SaturationOptions& options) {
  Json by_width;
  for (int64_t width = 1; width <= options.largest_width; width *= 2) {
    const RandomRows rows({.rows = options.sweep_draws,
                           .keys = options.keys,
                           .width = width,
                           .seed = options.seed});
    SOFTLOOKUP_ASSIGN_OR_RETURN(const RowMeasures unscaled,
                                MeasureRows(rows, 1));
    SOFTLOOKUP_ASSIGN_OR_RETURN(const RowMeasures scaled,
                                MeasureRows(rows, AttentionScale({}, width)));
    by_width[absl::StrCat(width)] = {
        {"width", width},
        {"unscaled", BriefSummary(unscaled, options.blocks)},
        {"scaled", BriefSummary(scaled, options.blocks)},
        {"unscaled_over_scaled",
         GradientRatios(unscaled, scaled, options.blocks)}};
  }
  return by_width;
}

// How much less entropy each row has than the same row in `before`.
Json EntropyLost(const RowMeasures& before, const RowMeasures& after) {
  std::vector<double> lost;
  for (size_t i = 0; i < before.entropy.size(); ++i) {
    lost.push_back(before.entropy[i] - after.entropy[i]);
  }
  return EstimateJson(MeanEstimate(lost));
}

absl::StatusOr<Json> MeasureEnlarged(const SaturationOptions& options) {
  const RandomRows rows({.rows = options.sweep_draws,
                         .keys = options.keys,
                         .width = options.width,
                         .seed = options.seed});
  const double scale = AttentionScale({}, options.width);
  SOFTLOOKUP_ASSIGN_OR_RETURN(const RowMeasures as_drawn,
                              MeasureRows(rows, scale));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const RowMeasures normalised_as_drawn,
                              MeasureRows(Normalised(rows), scale));
  Json enlarged;
  for (const auto& [name, factor] :
       {std::pair<std::string, double>{"halved", 0.5},
        {"doubled", 2},
        {"quadrupled", 4}}) {
    const RandomRows other = Enlarged(rows, factor);
    SOFTLOOKUP_ASSIGN_OR_RETURN(const RowMeasures plain,
                                MeasureRows(other, scale));
    SOFTLOOKUP_ASSIGN_OR_RETURN(const RowMeasures normalised,
                                MeasureRows(Normalised(other), scale));
    enlarged[name] = {
        {"factor", factor},
        {"plain", BriefSummary(plain, options.blocks)},
        {"qk_normalised", BriefSummary(normalised, options.blocks)},
        {"entropy_lost", EntropyLost(as_drawn, plain)},
        {"spread_growth",
         RootMeanSquare(plain.scores) / RootMeanSquare(as_drawn.scores)},
        {"qk_normalised_spread_growth",
         RootMeanSquare(normalised.scores) /
             RootMeanSquare(normalised_as_drawn.scores)}};
  }
  return enlarged;
}

}  // namespace

absl::StatusOr<Json> MeasureSaturation(const SaturationOptions& options) {
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
  Json found;
  found["uniform"] = BriefSummary(uniform, options.blocks);
  found["unscaled"] = FullSummary(unscaled, options.keys, options.blocks);
  found["scaled"] = FullSummary(scaled, options.keys, options.blocks);
  found["qk_normalised"] =
      FullSummary(normalised, options.keys, options.blocks);
  found["unscaled_over_scaled"] =
      GradientRatios(unscaled, scaled, options.blocks);
  SOFTLOOKUP_ASSIGN_OR_RETURN(found["by_width"], MeasureByWidth(options));
  SOFTLOOKUP_ASSIGN_OR_RETURN(found["enlarged"], MeasureEnlarged(options));
  return found;
}

}  // namespace softlookup
