#include "experiments/soft_lookup/results.h"

#include <cmath>

#include "gtest/gtest.h"

namespace softlookup {
namespace {

TEST(SoftLookupResults, EveryNumberStandsWhereItsNameSays) {
  SoftLookupResults results;
  results.table = ChapterTable();
  results.historical_scores.deviations.from_linearity.bilinear = {2, 1, 3};
  results.historical_scores.deviations.from_linearity.additive = {5, 4, 6};
  results.soft.weight_sum_deviation = std::nan("");
  results.factor.sweep = {{0, {}, {}, 7, 0}, {9, {}, {}, 8, 0}};
  results.factor.zero_weight_deviations = {0.5, 0.25};
  results.slopes.keys_against_difference = 11;
  results.path.hard_jumps = 12;
  results.learning.effects.soft_value_gradient = {14, 13, 15};
  const Json json = ToJson(results);
  EXPECT_EQ(json["entries"][1].dump(),
            "{\"name\":\"valve\",\"key\":[0.0,1.0],\"value\":[0.0,2.0]}");
  EXPECT_EQ(json["alignment"]["from_linearity"]["bilinear"], 3.0);
  EXPECT_EQ(json["alignment"]["from_linearity"]["additive"].dump(),
            "{\"mean\":5.0,\"range\":[4.0,6.0]}");
  EXPECT_TRUE(std::isnan(json["soft"]["weight_sum_deviation"].get<double>()));
  EXPECT_EQ(json["factor"]["zero"]["distance_to_hard"], 7.0);
  EXPECT_EQ(json["factor"]["zero"]["weight_deviations"].dump(), "[0.5,0.25]");
  EXPECT_EQ(json["factor"]["largest"]["factor"], 9.0);
  EXPECT_EQ(json["factor"]["sweep"].size(), 2u);
  EXPECT_EQ(json["gradients"]["keys_against_difference"], 11.0);
  EXPECT_EQ(json["path"]["hard_jumps"], 12);
  EXPECT_EQ(json["learning"]["soft_value_gradient"].dump(),
            "{\"mean\":14.0,\"range\":[13.0,15.0]}");
  // A table without the name that is asked for.
  EXPECT_FALSE(json["hard"]["hit"].contains("value"));
}

}  // namespace
}  // namespace softlookup
