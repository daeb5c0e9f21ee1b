#include "experiments/layer_cost/results.h"

#include <string>

#include "base/json.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

double At(const Json& json, const std::string& pointer) {
  return json.at(Json::json_pointer(pointer)).get<double>();
}

TEST(Results, CostsUnderTheirNames) {
  LayerCostResults results;
  results.costs.table.short_sequence.ratio = 1;
  results.costs.table.long_context.ratio = 2;
  results.costs.table.attention_growth = 3;
  results.costs.path.attention = 4;
  results.costs.path_curve.resize(2);
  results.costs.path_curve[1].dilated_convolution = 5;
  CurvePoint point;
  point.positions = 6;
  point.attention.memory_for_next_token = 7;
  results.costs.curves = {{16, {point}}};
  const Json json = ToJson(results)["costs"];
  EXPECT_EQ(At(json, "/short/ratio"), 1);
  EXPECT_EQ(At(json, "/long/ratio"), 2);
  EXPECT_EQ(At(json, "/growth/attention_operations"), 3);
  EXPECT_EQ(At(json, "/path/attention_deviation"), 4);
  EXPECT_EQ(At(json, "/path_curve/1/dilated_convolution"), 5);
  EXPECT_EQ(At(json, "/curves/16/0/positions"), 6);
  EXPECT_EQ(At(json, "/curves/16/0/attention_memory_for_next_token"), 7);
}

TEST(Results, OrdersOfWorkUnderTheirNames) {
  LayerCostResults results;
  results.gradient.linear.survival_low = {1, 2};
  results.gradient.attention.directions_kept = {3, 1};
  results.loop.linear_superposition = 4;
  results.mixing.rows_alone_deviation = 5;
  results.scan.rounds_of_the_scan = 6;
  results.blocks.whole.twice.peak_memory = 7;
  results.blocks.blocked.memory_growth = 8;
  results.blocks.blocked.arithmetic_growth = 9;
  results.decode_memory.attention_memory = {10, 11};
  const Json json = ToJson(results);
  EXPECT_EQ(At(json, "/gradient/linear/survival_low/1"), 2);
  EXPECT_EQ(At(json, "/gradient/attention/directions_kept/interval/0"), -1);
  EXPECT_EQ(At(json, "/loop/linear_superposition"), 4);
  EXPECT_EQ(At(json, "/mixing/rows_alone_deviation"), 5);
  EXPECT_EQ(At(json, "/scan/rounds_of_the_scan"), 6);
  EXPECT_EQ(At(json, "/blocks/whole/1/peak_memory"), 7);
  EXPECT_EQ(At(json, "/blocks/memory_growth/blocked"), 8);
  EXPECT_EQ(At(json, "/blocks/arithmetic_growth/blocked"), 9);
  EXPECT_EQ(At(json, "/generation/attention_memory/1"), 11);
}

}  // namespace
}  // namespace softlookup
