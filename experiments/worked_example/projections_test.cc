#include "experiments/worked_example/projections.h"

#include "base/tensor/shape.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

constexpr double kUnit = 0x1p-53;  // the rounding unit of double

Json Measure() {
  return MeasureProjections({.draws = 1000, .seed = 7}).value();
}

TEST(Projections, Shapes) {
  const Json shapes = Measure()["shapes"];
  EXPECT_EQ(shapes["tokens"].get<Shape>(), (Shape{5, 8}));
  EXPECT_EQ(shapes["queries"].get<Shape>(), (Shape{5, 4}));
  EXPECT_EQ(shapes["keys"].get<Shape>(), (Shape{5, 4}));
  EXPECT_EQ(shapes["values"].get<Shape>(), (Shape{5, 6}));
  EXPECT_EQ(shapes["weights"].get<Shape>(), (Shape{5, 5}));
  EXPECT_EQ(shapes["outputs"].get<Shape>(), (Shape{5, 6}));
  EXPECT_EQ(shapes["scores_minus_pairs"], 0);
}

TEST(Projections, FormulasHoldOnEveryDraw) {
  const Json formulas = Measure()["formulas"];
  EXPECT_EQ(formulas["row_from_its_own_token"], 0.0);
  // Scores stay below 30; the logarithm of a weight and the log-sum-exp each
  // carry an ulp of that, the products four roundings.
  EXPECT_LE(formulas["score_from_scaled_product"].get<double>(),
            16 * 32 * kUnit);
  // Scores' roundings, up to 4 units of 30, become relative ones of weights.
  EXPECT_LE(formulas["weight_from_textbook_softmax"].get<double>(),
            16 * 32 * kUnit);
  EXPECT_LE(formulas["row_sum_from_1"].get<double>(), 8 * kUnit);
  EXPECT_LE(formulas["output_from_weighted_average"].get<double>(),
            8 * 8 * kUnit);
  EXPECT_GE(formulas["smallest_weight"].get<double>(), 0);
  EXPECT_LT(formulas["smallest_weight"].get<double>(), 0.2);
  EXPECT_LT(formulas["smallest_score"].get<double>(), -1);
}

TEST(Projections, WidthsThatMustAgree) {
  const Json widths = Measure()["widths"];
  EXPECT_EQ(widths["query_and_key_equal"], 1);
  EXPECT_EQ(widths["query_and_key_different"], 0);
  EXPECT_EQ(widths["query_and_key_different_refused"], 1);
  EXPECT_EQ(widths["value_widths_tried"].size(), 4u);
  EXPECT_EQ(widths["value_widths_refused"], 0);
  EXPECT_EQ(widths["output_width"], 6);
}

TEST(Projections, RolesNeedTheirOwnMatrices) {
  const Json roles = Measure()["roles"];
  EXPECT_EQ(roles["asymmetry_with_one_matrix"]["range"][1], 0.0);
  EXPECT_EQ(roles["weight_change_by_value_matrix"]["range"][1], 0.0);
  for (const char* name : {"asymmetry_of_scores", "weight_change_by_key_matrix",
                           "output_change_by_value_matrix"}) {
    const Json& effect = roles[name];
    EXPECT_GT(effect["range"][0].get<double>(), 0.01) << name;
    EXPECT_LT(effect["range"][0].get<double>(), effect["mean"].get<double>());
    EXPECT_LT(effect["mean"].get<double>(), effect["range"][1].get<double>());
  }
}

}  // namespace
}  // namespace softlookup
