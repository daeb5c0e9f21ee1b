#include "experiments/saturation/results.h"

#include <string>
#include <vector>

#include "base/json.h"
#include "base/tensor/tensor.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

double At(const Json& json, const std::string& pointer) {
  return json.at(Json::json_pointer(pointer)).get<double>();
}

// What the curve of the Jacobian must have.
SaturationResults Empty() {
  SaturationResults results;
  results.jacobian.curve.resize(2);
  return results;
}

TEST(Results, ScoresAndProjections) {
  SaturationResults results = Empty();
  ScoresAtWidth eight;
  eight.width = 8;
  eight.mean = {1, 0.5};
  ScoresAtWidth two;
  two.width = 2;
  two.variance = {10, 2};
  results.scores.kinds = {{"signs", {eight}}};
  results.scores.furthest = {11, 12, 13, 14};
  results.scores.same_vector = {two};
  results.scores.term = {{1, 1}, {2, 1}};
  results.scores.same_vector_term = {{3, 1}, {4, 1}};
  results.projections_normalised.key_entry_variance = {5, 2};
  results.projections_not_normalised.query_entry_variance = {6, 5};
  const Json json = ToJson(results);
  EXPECT_EQ(At(json, "/scores/signs/8/mean/errors_off"), 2);
  EXPECT_EQ(At(json, "/scores/furthest/scaled_variance"), 13);
  EXPECT_EQ(At(json, "/scores/same_vector/2/variance/errors_off"), 4);
  EXPECT_EQ(At(json, "/scores/same_vector/2/variance_errors_off_1"), 4.5);
  EXPECT_EQ(At(json, "/scores/term/second_moment/value"), 2);
  EXPECT_EQ(At(json, "/scores/same_vector/term/mean/errors_off"), 3);
  EXPECT_EQ(At(json, "/projections/normalised/key_entry_variance/errors_off"),
            2);
  EXPECT_EQ(
      At(json, "/projections/not_normalised/query_entry_variance/errors_off"),
      1);
}

TEST(Results, EndsOfTheJacobiansCurve) {
  SaturationResults results;
  results.jacobian.curve = {{0, 0.25, 3, 4}, {1, 0.5, 2, 5}, {4, 1, 1, 6}};
  results.jacobian.trace_rise = -1;
  results.jacobian.drawn.shift = 7;
  results.jacobian.matrices = {{4, {0.5, 0.5}, Tensor<double>({1, 2}, {8, 9})}};
  const Json json = ToJson(results);
  EXPECT_EQ(json["jacobian"]["uniform"], json["jacobian"]["curve"][0]);
  EXPECT_EQ(json["jacobian"]["one_hot"], json["jacobian"]["curve"][2]);
  EXPECT_EQ(At(json, "/jacobian/one_hot/largest_entry"), 6);
  EXPECT_EQ(At(json, "/jacobian/curve_rises/trace"), -1);
  EXPECT_EQ(At(json, "/jacobian/shift"), 7);
  EXPECT_EQ(At(json, "/jacobian/matrices/0/jacobian/0/1"), 9);
}

TEST(Results, RowsByKindWidthAndFactor) {
  SaturationResults results = Empty();
  results.rows.unscaled.gap_to_each.fraction_at_least_10 = {0.5, 0.25};
  results.rows.scaled.largest_weights = {0, 1, {3, 4}};
  results.rows.qk_normalised.entropy.median = {2, 1};
  RowsAtWidth wide;
  wide.width = 64;
  wide.unscaled_over_scaled.score_gradient.mean = {3, 1};
  results.rows.by_width = {wide};
  EnlargedRows doubled;
  doubled.name = "doubled";
  doubled.entropy_lost = {4, 1};
  results.rows.enlarged = {doubled};
  const Json json = ToJson(results)["rows"];
  EXPECT_EQ(At(json, "/unscaled/gap_to_each/fraction_at_least_10/interval/1"),
            1.5);
  EXPECT_EQ(At(json, "/scaled/largest_weight/histogram/counts/1"), 4);
  EXPECT_EQ(At(json, "/qk_normalised/entropy/median/value"), 2);
  EXPECT_EQ(At(json,
               "/by_width/64/unscaled_over_scaled/score_gradient/mean/"
               "value"),
            3);
  EXPECT_EQ(At(json, "/enlarged/doubled/entropy_lost/value"), 4);
}

TEST(Results, TrainingByOptimiserAndModel) {
  SaturationResults results = Empty();
  SpeedComparison& adam = results.training.adam;
  adam.unscaled.curve.resize(2);
  adam.unscaled.curve[1].accuracy = 0.5;
  adam.unscaled.slowdown = {2, 0.1, 1, 3};
  adam.unscaled.best_rate_slowdown = {4, 0.1, 3, 5};
  adam.unscaled_start.slowdown.value = 6;
  adam.scaled_again.value = 7;
  results.training.initial_unscaled_start.accuracy.value = 8;
  results.training.sharpening.benefit_untrained.value = 9;
  const Json json = ToJson(results)["training"];
  EXPECT_EQ(At(json, "/adam/unscaled/curve/1/step"), 1);
  EXPECT_EQ(At(json, "/adam/unscaled/curve/1/accuracy"), 0.5);
  EXPECT_EQ(At(json, "/adam/slowdown/unscaled/interval/1"), 3);
  EXPECT_EQ(At(json, "/adam/best_rate_slowdown/unscaled/value"), 4);
  EXPECT_EQ(At(json, "/adam/slowdown/unscaled_start/value"), 6);
  EXPECT_EQ(At(json, "/adam/slowdown/scaled_again/value"), 7);
  EXPECT_EQ(At(json, "/initial/unscaled_start/accuracy/value"), 8);
  EXPECT_EQ(At(json, "/sharpening/benefit/untrained/value"), 9);
}

}  // namespace
}  // namespace softlookup
