#include "experiments/soft_lookup/results.h"

#include "base/statistics/estimate.h"

namespace softlookup {
namespace {

Json ToJson(const HistoricalScoresResults& found) {
  const ScoreDeviations<MeanAndRange>& d = found.deviations;
  const ContextExample& example = found.example;
  return {{"draws", found.draws},
          {"sizes",
           {{"decoder_steps", found.decoder_steps},
            {"positions", found.positions},
            {"width", found.width},
            {"additive_units", found.additive_units}}},
          {"example",
           {{"additive_scores", example.additive_scores},
            {"weights", example.weights},
            {"context_vector", example.context_vector}}},
          {"context",
           {{"from_weighted_sum", d.context_from_weighted_sum.largest},
            {"weight_sum_from_1", d.weight_sum_from_1.largest},
            {"weight_change_by_decoder_state",
             ToJson(d.weight_change_by_decoder_state)},
            {"weight_change_without_network",
             ToJson(d.weight_change_without_network)}}},
          {"from_formula",
           {{"additive", d.from_formula.additive.largest},
            {"dot", d.from_formula.dot.largest},
            {"bilinear", d.from_formula.bilinear.largest}}},
          {"bilinear_with_identity_from_dot",
           d.bilinear_with_identity_from_dot.largest},
          {"from_linearity",
           {{"dot", d.from_linearity.dot.largest},
            {"bilinear", d.from_linearity.bilinear.largest},
            {"additive", ToJson(d.from_linearity.additive)}}},
          {"largest_rank",
           {{"additive", found.largest_rank.additive},
            {"dot", found.largest_rank.dot},
            {"bilinear", found.largest_rank.bilinear}}}};
}

Json ToJson(const LookupTable& table) {
  Json entries = Json::array();
  for (const LookupEntry& entry : table) {
    entries.push_back(
        {{"name", entry.name}, {"key", entry.key}, {"value", entry.value}});
  }
  return entries;
}

Json ToJson(const HardAnswers& hard) {
  Json hit = {{"query", hard.hit}, {"found", hard.hit_found}};
  if (hard.hit_value.has_value()) hit["value"] = *hard.hit_value;
  return {{"hit", hit},
          {"miss", {{"query", hard.miss}, {"found", hard.miss_found}}},
          {"near_misses",
           {{"queries", hard.near_misses}, {"found", hard.near_misses_found}}}};
}

Json ToJson(const SoftAnswers& soft) {
  return {
      {"query", soft.query},
      {"scores", soft.scores},
      {"scaled_scores", soft.scaled_scores},
      {"weights", soft.weights},
      {"output", soft.output},
      {"smallest_weight", soft.smallest_weight},
      {"smallest_weight_of_hard_lookup", soft.smallest_weight_of_hard_lookup},
      {"weight_sum_deviation", soft.weight_sum_deviation},
      {"output_from_weighted_average", soft.output_from_weighted_average},
      {"order",
       {{"queries", soft.order.queries},
        {"violations", soft.order.violations},
        {"violations_with_reversed_scores",
         soft.order.violations_with_reversed_scores}}},
      {"partial_match",
       {{"query", soft.partial_match.query},
        {"hard_keys_found", soft.partial_match.hard_keys_found},
        {"soft_keys_with_weight", soft.partial_match.soft_keys_with_weight},
        {"weights", soft.partial_match.weights},
        {"output", soft.partial_match.output}}},
      {"equal_scores",
       {{"weights", soft.equal_scores.weights},
        {"output", soft.equal_scores.output},
        {"largest_weight_deviation",
         soft.equal_scores.largest_weight_deviation}}}};
}

Json ToJson(const FactorPoint& point) {
  return {{"factor", point.factor},
          {"weights", point.weights},
          {"output", point.output},
          {"distance_to_hard", point.distance_to_hard},
          {"distance_to_mean", point.distance_to_mean}};
}

Json ToJson(const FactorResults& factor) {
  Json zero = ToJson(factor.sweep.front());
  zero["weight_deviations"] = factor.zero_weight_deviations;
  Json sweep = Json::array();
  for (const FactorPoint& point : factor.sweep) sweep.push_back(ToJson(point));
  return {{"hundredth", ToJson(factor.hundredth)},
          {"one", ToJson(factor.one)},
          {"ten", ToJson(factor.ten)},
          {"hard_output", factor.hard_output},
          {"mean_output", factor.mean_output},
          {"best_key", factor.best_key},
          {"smallest_rise_of_best_weight", factor.smallest_rise_of_best_weight},
          {"smallest_rise_of_another_weight",
           factor.smallest_rise_of_another_weight},
          {"zero", zero},
          {"largest", ToJson(factor.sweep.back())},
          {"sweep", sweep}};
}

Json ToJson(const OverflowResults& overflow) {
  return {{"factor", overflow.factor},
          {"not_finite_with_subtraction", overflow.not_finite_with_subtraction},
          {"not_finite_without_subtraction",
           overflow.not_finite_without_subtraction},
          {"change_by_subtraction_at_factor_1",
           overflow.change_by_subtraction_at_factor_1}};
}

Json ToJson(const SlopeResults& slopes) {
  return {{"hard_query", slopes.hard_query},
          {"soft_query", slopes.soft_query},
          {"soft_keys", slopes.soft_keys},
          {"soft_values", slopes.soft_values},
          {"query_against_difference", slopes.query_against_difference},
          {"keys_against_difference", slopes.keys_against_difference},
          {"values_against_difference", slopes.values_against_difference}};
}

Json ToJson(const PathResults& path) {
  return {{"steps", path.steps},
          {"hard_steps_without_change", path.hard_steps_without_change},
          {"soft_steps_without_change", path.soft_steps_without_change},
          {"hard_jumps", path.hard_jumps},
          {"hard_smallest_jump", path.hard_smallest_jump},
          {"soft_largest_step", path.soft_largest_step},
          {"soft_smallest_slope", path.soft_smallest_slope},
          {"soft_slope_against_difference", path.soft_slope_against_difference},
          {"degrees", path.degrees},
          {"hard_outputs", path.hard_outputs},
          {"soft_outputs", path.soft_outputs}};
}

Json ToJson(const LookupLearningResults& learning) {
  const LearningEffects<MeanAndRange>& effects = learning.effects;
  return {
      {"draws", learning.draws},
      {"steps", learning.steps},
      {"tokens", learning.tokens},
      {"learning_rate", learning.learning_rate},
      {"soft_loss_last_over_first", ToJson(effects.soft_loss_last_over_first)},
      {"hard_loss_last_over_first", ToJson(effects.hard_loss_last_over_first)},
      {"soft_weight_on_wanted_before",
       ToJson(effects.soft_weight_on_wanted_before)},
      {"soft_weight_on_wanted_after",
       ToJson(effects.soft_weight_on_wanted_after)},
      {"soft_query_or_key_gradient",
       ToJson(effects.soft_query_or_key_gradient)},
      {"soft_value_gradient", ToJson(effects.soft_value_gradient)},
      {"hard_query_or_key_gradient",
       ToJson(effects.hard_query_or_key_gradient)},
      {"loss_curve_of_first_draw",
       {{"soft", learning.curves_of_first_draw.soft},
        {"hard", learning.curves_of_first_draw.hard}}}};
}

}  // namespace

Json ToJson(const SoftLookupResults& results) {
  return {{"alignment", ToJson(results.historical_scores)},
          {"entries", ToJson(results.table)},
          {"hard", ToJson(results.hard)},
          {"soft", ToJson(results.soft)},
          {"factor", ToJson(results.factor)},
          {"overflow", ToJson(results.overflow)},
          {"gradients", ToJson(results.slopes)},
          {"path", ToJson(results.path)},
          {"learning", ToJson(results.learning)}};
}

}  // namespace softlookup
