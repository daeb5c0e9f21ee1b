#include "experiments/saturation/results.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/statistics/estimate.h"
#include "base/tensor/matrix.h"

namespace softlookup {
namespace {

Json ToJson(const Divisors& divisors) {
  return {{"width", divisors.width},
          {"divisor", divisors.divisor},
          {"divisor_at_width_2", divisors.divisor_at_width_2},
          {"ratio", divisors.ratio}};
}

Json ToJson(const std::vector<ScoresAtWidth>& by_width) {
  Json json;
  for (const ScoresAtWidth& at : by_width) {
    json[absl::StrCat(at.width)] = {
        {"width", at.width},
        {"mean", EstimateJson(at.mean, 0)},
        {"variance", EstimateJson(at.variance, static_cast<double>(at.width))},
        {"standard_deviation", EstimateJson(at.standard_deviation)},
        {"scaled_variance", EstimateJson(at.scaled_variance, 1)},
        {"variance_errors_off_1", ErrorsOff(at.variance, 1)}};
  }
  return json;
}

Json ToJson(const TermMoments& term) {
  return {{"mean", EstimateJson(term.mean, 0)},
          {"second_moment", EstimateJson(term.second_moment, 1)}};
}

Json ToJson(const ScoreSpread& spread) {
  Json json;
  for (const EntryKind& kind : spread.kinds) {
    json[kind.name] = ToJson(kind.by_width);
  }
  json["furthest"] = {{"mean", spread.furthest.mean},
                      {"variance", spread.furthest.variance},
                      {"scaled_variance", spread.furthest.scaled_variance},
                      {"unscaled_variance", spread.furthest.unscaled_variance}};
  json["term"] = ToJson(spread.term);
  json["same_vector"] = ToJson(spread.same_vector);
  json["same_vector"]["term"] = ToJson(spread.same_vector_term);
  return json;
}

Json ToJson(const ProjectionMoments& moments) {
  return {
      {"input_mean_square", EstimateJson(moments.input_mean_square, 1)},
      {"query_entry_variance", EstimateJson(moments.query_entry_variance, 1)},
      {"key_entry_variance", EstimateJson(moments.key_entry_variance, 1)},
      {"scaled_score_variance", EstimateJson(moments.scaled_score_variance, 1)},
  };
}

Json ToJson(const JacobianPoint& point) {
  return {{"factor", point.factor},
          {"largest_weight", point.largest_weight},
          {"trace", point.trace},
          {"largest_entry", point.largest_entry}};
}

Json ToJson(const JacobianResults& jacobian) {
  const JacobianDeviations& drawn = jacobian.drawn;
  Json json = {{"row_sum", drawn.row_sum},
               {"asymmetry", drawn.asymmetry},
               {"shift", drawn.shift},
               {"complex_step", drawn.complex_step},
               {"trace_formula", drawn.trace_formula},
               {"entry_over_rest", drawn.entry_over_rest},
               {"trace_over_uniform", drawn.trace_over_uniform},
               {"largest_entry_over_uniform", drawn.largest_entry_over_uniform},
               {"uniform", ToJson(jacobian.curve.front())},
               {"one_hot", ToJson(jacobian.curve.back())},
               {"curve_rises",
                {{"trace", jacobian.trace_rise},
                 {"largest_entry", jacobian.largest_entry_rise}}}};
  for (const JacobianPoint& point : jacobian.curve) {
    json["curve"].push_back(ToJson(point));
  }
  for (const JacobianMatrix& matrix : jacobian.matrices) {
    json["matrices"].push_back({{"factor", matrix.factor},
                                {"weights", matrix.weights},
                                {"jacobian", NestedLists(matrix.jacobian)}});
  }
  return json;
}

Json ToJson(const MeanAndMedian& centre) {
  return {{"mean", EstimateJson(centre.mean)},
          {"median", EstimateJson(centre.median)}};
}

Json ToJson(const RowSummary& rows) {
  return {{"score_deviation", rows.score_deviation},
          {"largest_weight", ToJson(rows.largest_weight)},
          {"entropy", ToJson(rows.entropy)},
          {"jacobian_trace", ToJson(rows.jacobian_trace)},
          {"score_gradient", ToJson(rows.score_gradient)}};
}

Json ToJson(const GapSummary& gap) {
  Json json = ToJson(static_cast<const MeanAndMedian&>(gap));
  json["fraction_at_least_10"] = EstimateJson(gap.fraction_at_least_10);
  return json;
}

Json ToJson(const DetailedRowSummary& rows) {
  Json json = ToJson(static_cast<const RowSummary&>(rows));
  json["largest_weight"]["histogram"] = ToJson(rows.largest_weights);
  json["entropy"]["histogram"] = ToJson(rows.entropies);
  json["jacobian_norm"] = ToJson(rows.jacobian_norm);
  json["product_deviation"] = rows.product_deviation;
  json["query_gradient"] = ToJson(rows.query_gradient);
  json["gap_to_runner_up"] = ToJson(rows.gap_to_runner_up);
  json["gap_to_mean_rest"] = ToJson(rows.gap_to_mean_rest);
  json["gap_to_each"] = ToJson(rows.gap_to_each);
  return json;
}

Json ToJson(const GradientRatios& ratios) {
  return {{"jacobian_norm", ToJson(ratios.jacobian_norm)},
          {"score_gradient", ToJson(ratios.score_gradient)},
          {"query_gradient", ToJson(ratios.query_gradient)}};
}

Json ToJson(const SaturationRows& rows) {
  Json json = {{"uniform", ToJson(rows.uniform)},
               {"unscaled", ToJson(rows.unscaled)},
               {"scaled", ToJson(rows.scaled)},
               {"qk_normalised", ToJson(rows.qk_normalised)},
               {"unscaled_over_scaled", ToJson(rows.unscaled_over_scaled)}};
  for (const RowsAtWidth& at : rows.by_width) {
    json["by_width"][absl::StrCat(at.width)] = {
        {"width", at.width},
        {"unscaled", ToJson(at.unscaled)},
        {"scaled", ToJson(at.scaled)},
        {"unscaled_over_scaled", ToJson(at.unscaled_over_scaled)}};
  }
  for (const EnlargedRows& at : rows.enlarged) {
    json["enlarged"][at.name] = {
        {"factor", at.factor},
        {"plain", ToJson(at.plain)},
        {"qk_normalised", ToJson(at.qk_normalised)},
        {"entropy_lost", EstimateJson(at.entropy_lost)},
        {"spread_growth", at.spread_growth},
        {"qk_normalised_spread_growth", at.qk_normalised_spread_growth}};
  }
  return json;
}

Json ToJson(const ModelRuns& runs) {
  Json curve = Json::array();
  for (size_t step = 0; step < runs.curve.size(); ++step) {
    const RetrievalScore& score = runs.curve[step];
    curve.push_back({{"step", step},
                     {"loss", score.loss},
                     {"accuracy", score.accuracy},
                     {"target_weight", score.target_weight},
                     {"largest_weight", score.largest_weight},
                     {"entropy", score.entropy},
                     {"score_deviation", score.score_deviation}});
  }
  return {
      {"curve", curve},
      {"steps_to_accuracy", runs.steps_to_accuracy},
      {"steps_to_accuracy_at_best_rate", runs.steps_to_accuracy_at_best_rate}};
}

Json ToJson(const SpeedComparison& speed) {
  return {
      {"rate", speed.rate},
      {"scaled", ToJson(speed.scaled)},
      {"unscaled", ToJson(speed.unscaled)},
      {"slowdown",
       {{"unscaled", ToJson(speed.unscaled.slowdown)},
        {"unscaled_start", ToJson(speed.unscaled_start.slowdown)},
        {"scaled_again", ToJson(speed.scaled_again)}}},
      {"best_rate_slowdown",
       {{"unscaled", ToJson(speed.unscaled.best_rate_slowdown)},
        {"unscaled_start", ToJson(speed.unscaled_start.best_rate_slowdown)}}},
      {"unscaled_start", ToJson(speed.unscaled_start)}};
}

Json ToJson(const InitialModel& initial) {
  return {
      {"accuracy", EstimateJson(initial.accuracy)},
      {"query_weight_gradient", EstimateJson(initial.query_weight_gradient)}};
}

Json ToJson(const Sharpening& sharpening) {
  return {{"entropy_lost",
           {{"partner", EstimateJson(sharpening.entropy_lost_partner)},
            {"random", EstimateJson(sharpening.entropy_lost_random)}}},
          {"score_growth", ToJson(sharpening.score_growth)},
          {"benefit",
           {{"trained", EstimateJson(sharpening.benefit_trained)},
            {"untrained", EstimateJson(sharpening.benefit_untrained)}}}};
}

Json ToJson(const TrainingResults& training) {
  return {{"accuracy_sought", training.accuracy_sought},
          {"chance", training.chance},
          {"gradient_descent", ToJson(training.gradient_descent)},
          {"adam", ToJson(training.adam)},
          {"initial",
           {{"scaled", ToJson(training.initial_scaled)},
            {"unscaled", ToJson(training.initial_unscaled)},
            {"unscaled_start", ToJson(training.initial_unscaled_start)}}},
          {"query_weight_gradient_ratio",
           ToJson(training.query_weight_gradient_ratio)},
          {"sharpening", ToJson(training.sharpening)}};
}

}  // namespace

Json ToJson(const SaturationResults& results) {
  return {{"divisors", ToJson(results.divisors)},
          {"scores", ToJson(results.scores)},
          {"projections",
           {{"normalised", ToJson(results.projections_normalised)},
            {"not_normalised", ToJson(results.projections_not_normalised)}}},
          {"jacobian", ToJson(results.jacobian)},
          {"rows", ToJson(results.rows)},
          {"training", ToJson(results.training)}};
}

}  // namespace softlookup
