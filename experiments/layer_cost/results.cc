#include "experiments/layer_cost/results.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/statistics/estimate.h"

namespace softlookup {
namespace {

Json ToJson(const CostPoint& point) {
  return {{"positions", point.positions},
          {"width", point.width},
          {"recurrent_operations", point.recurrent_operations},
          {"attention_operations", point.attention_operations},
          {"convolution_operations", point.convolution_operations},
          {"ratio", point.ratio}};
}

Json ToJson(const CostTable& table) {
  return {{"short", ToJson(table.short_sequence)},
          {"long", ToJson(table.long_context)},
          {"long_doubled", ToJson(table.long_doubled)},
          {"below", ToJson(table.below)},
          {"equal", ToJson(table.equal)},
          {"above", ToJson(table.above)},
          {"equal_deviation", table.equal_deviation},
          {"growth",
           {{"recurrent_operations", table.recurrent_growth},
            {"attention_operations", table.attention_growth},
            {"ratio", table.ratio_growth}}},
          {"linearity_deviation", table.linearity_deviation},
          {"quadratic_deviation", table.quadratic_deviation}};
}

Json ToJson(const ShortRun& run) {
  return {
      {"recurrence", run.recurrence},
      {"scores", run.scores},
      {"weighted_sums", run.weighted_sums},
      {"one_projection", run.one_projection},
      {"attention_projections", run.attention_projections},
      {"recurrence_deviation", run.recurrence_deviation},
      {"scores_deviation", run.scores_deviation},
      {"weighted_sums_deviation", run.weighted_sums_deviation},
      {"attention_projections_deviation", run.attention_projections_deviation},
      {"projection_minus_recurrence", run.projection_minus_recurrence},
      {"ratio_deviation", run.ratio_deviation}};
}

Json ToJson(const SequentialSteps& steps) {
  return {{"positions", steps.positions},
          {"recurrent", steps.recurrent},
          {"sequences", steps.sequences},
          {"recurrent_all_sequences_together",
           steps.recurrent_all_sequences_together},
          {"recurrent_one_sequence_after_another",
           steps.recurrent_one_sequence_after_another},
          {"attention", steps.attention},
          {"recurrent_minus_formula", steps.recurrent_minus_formula},
          {"attention_minus_formula", steps.attention_minus_formula}};
}

Json ToJson(const PathLengths& path) {
  return {{"distance", path.distance},
          {"recurrent", path.recurrent},
          {"attention", path.attention},
          {"convolution", path.convolution},
          {"dilated_convolution", path.dilated_convolution}};
}

Json ToJson(const CurvePoint& point) {
  Json json = ToJson(static_cast<const CostPoint&>(point));
  for (const auto& [name, totals] :
       {std::pair<std::string, LayerTotals>{"recurrent", point.recurrent},
        {"attention", point.attention},
        {"convolution", point.convolution}}) {
    json[name + "_multiply_adds_with_projections"] =
        totals.multiply_adds_with_projections;
    json[name + "_memory_for_next_token"] = totals.memory_for_next_token;
  }
  json["score_elements"] = point.score_elements;
  return json;
}

Json ToJson(const CountResults& counts) {
  Json json = ToJson(counts.table);
  json["run"] = ToJson(counts.run);
  json["sequential"] = ToJson(counts.sequential);
  json["path"] = {{"positions", counts.path.positions},
                  {"recurrent_deviation", counts.path.recurrent},
                  {"attention_deviation", counts.path.attention}};
  for (const PathLengths& path : counts.path_curve) {
    json["path_curve"].push_back(ToJson(path));
  }
  for (const CostCurve& curve : counts.curves) {
    Json points = Json::array();
    for (const CurvePoint& point : curve.points) {
      points.push_back(ToJson(point));
    }
    json["curves"][absl::StrCat(curve.width)] = std::move(points);
  }
  return json;
}

Json ToJson(const GradientSurvival& survival) {
  return {{"survival", survival.survival},
          {"survival_low", survival.survival_low},
          {"survival_high", survival.survival_high},
          {"directions", survival.directions},
          {"full_distance", ToJson(survival.full_distance)},
          {"directions_kept", EstimateJson(survival.directions_kept)}};
}

Json ToJson(const GradientResults& gradient) {
  return {{"distances", gradient.distances},
          {"recurrent", ToJson(gradient.recurrent)},
          {"linear", ToJson(gradient.linear)},
          {"attention", ToJson(gradient.attention)},
          {"complex_step_deviation", gradient.complex_step_deviation}};
}

Json ToJson(const LoopResults& loop) {
  return {{"smallest_later_change", loop.smallest_later_change},
          {"without_loop", loop.without_loop},
          {"superposition", loop.superposition},
          {"linear_superposition", loop.linear_superposition}};
}

Json ToJson(const MixingResults& mixing) {
  return {{"positions", mixing.positions},
          {"width", mixing.width},
          {"steps_of_the_loop", mixing.steps_of_the_loop},
          {"deviation", mixing.deviation},
          {"rows_alone_deviation", mixing.rows_alone_deviation}};
}

Json ToJson(const ScanResults& scan) {
  return {{"positions", scan.positions},
          {"width", scan.width},
          {"steps_of_the_loop", scan.steps_of_the_loop},
          {"rounds_of_the_scan", scan.rounds_of_the_scan},
          {"rounds_deviation", scan.rounds_deviation},
          {"deviation", scan.deviation}};
}

Json ToJson(const CountedRun& run) {
  return {{"positions", run.positions},
          {"peak_memory", run.peak_memory},
          {"multiplications", run.multiplications},
          {"score_multiplications", run.score_multiplications}};
}

Json ToJson(const BlockResults& blocks) {
  const CountedRuns& whole = blocks.whole;
  const CountedRuns& blocked = blocks.blocked;
  return {
      {"width", blocks.width},
      {"block", blocks.block},
      {"whole", {ToJson(whole.once), ToJson(whole.twice)}},
      {"blocked", {ToJson(blocked.once), ToJson(blocked.twice)}},
      {"weights_deviation", blocks.weights_deviation},
      {"deviation", blocks.deviation},
      {"memory_growth",
       {{"whole", whole.memory_growth}, {"blocked", blocked.memory_growth}}},
      {"arithmetic_growth",
       {{"whole", whole.arithmetic_growth},
        {"blocked", blocked.arithmetic_growth}}},
      {"arithmetic_ratio", blocks.arithmetic_ratio},
      {"windowed_arithmetic_ratio", blocks.windowed_arithmetic_ratio}};
}

Json ToJson(const DecodeMemory& memory) {
  return {{"tokens", memory.tokens},
          {"width", memory.width},
          {"recurrent_memory", memory.recurrent_memory},
          {"attention_memory", memory.attention_memory},
          {"recurrent_growth", memory.recurrent_growth},
          {"attention_growth", memory.attention_growth},
          {"formula_deviation", memory.formula_deviation},
          {"output_deviation", memory.output_deviation}};
}

}  // namespace

Json ToJson(const LayerCostResults& results) {
  return {{"costs", ToJson(results.costs)},
          {"gradient", ToJson(results.gradient)},
          {"loop", ToJson(results.loop)},
          {"mixing", ToJson(results.mixing)},
          {"scan", ToJson(results.scan)},
          {"blocks", ToJson(results.blocks)},
          {"generation", ToJson(results.decode_memory)}};
}

}  // namespace softlookup
