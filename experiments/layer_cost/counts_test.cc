#include "experiments/layer_cost/counts.h"

#include <string>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

constexpr CountOptions kOptions = {.short_positions = 6,
                                   .short_width = 4,
                                   .long_positions = 64,
                                   .long_width = 16,
                                   .kernel = 3,
                                   .sequence = 30,
                                   .pairs_up_to = 7};

const Json& Counts() {
  static const auto& counts = *new Json(MeasureCounts(kOptions).value());
  return counts;
}

double At(const std::string& pointer) {
  return Counts().at(Json::json_pointer(pointer)).get<double>();
}

TEST(Counts, PointsOfTheTable) {
  EXPECT_EQ(At("/short/recurrent_operations"), 6 * 4 * 4);
  EXPECT_EQ(At("/short/attention_operations"), 6 * 6 * 4);
  EXPECT_EQ(At("/short/convolution_operations"), 3 * 6 * 4 * 4);
  EXPECT_EQ(At("/short/ratio"), 1.5);
  EXPECT_EQ(At("/below/ratio"), 0.75);
  EXPECT_EQ(At("/equal/ratio"), 1);
  EXPECT_EQ(At("/equal_deviation"), 0);
  EXPECT_EQ(At("/above/ratio"), 1.25);
  EXPECT_EQ(At("/long/ratio"), 4);
  EXPECT_EQ(At("/long_doubled/positions"), 128);
  EXPECT_EQ(At("/growth/ratio"), 2);
  EXPECT_EQ(At("/growth/attention_operations"), 4);
  EXPECT_EQ(At("/growth/recurrent_operations"), 2);
  EXPECT_EQ(At("/linearity_deviation"), 0);
  EXPECT_EQ(At("/quadratic_deviation"), 0);
}

TEST(Counts, RunsOfTheShortLayers) {
  EXPECT_EQ(At("/run/recurrence"), 6 * 4 * 4);
  EXPECT_EQ(At("/run/scores"), 6 * 6 * 4);
  EXPECT_EQ(At("/run/weighted_sums"), 6 * 6 * 4);
  EXPECT_EQ(At("/run/one_projection"), 6 * 4 * 4);
  EXPECT_EQ(At("/run/attention_projections"), 4 * 6 * 4 * 4);
  for (const char* name :
       {"recurrence_deviation", "scores_deviation", "weighted_sums_deviation",
        "attention_projections_deviation", "projection_minus_recurrence",
        "ratio_deviation"}) {
    EXPECT_EQ(Counts()["run"][name].get<double>(), 0) << name;
  }
}

TEST(Counts, ChainsAndPaths) {
  EXPECT_EQ(At("/sequential/recurrent"), 30);
  EXPECT_EQ(At("/sequential/recurrent_all_sequences_together"), 30);
  EXPECT_EQ(At("/sequential/recurrent_one_sequence_after_another"), 8 * 30);
  EXPECT_EQ(At("/sequential/attention"), 1);
  EXPECT_EQ(At("/sequential/recurrent_minus_formula"), 0);
  EXPECT_EQ(At("/sequential/attention_minus_formula"), 0);
  EXPECT_EQ(At("/path/recurrent_deviation"), 0);
  EXPECT_EQ(At("/path/attention_deviation"), 0);
  const Json& curve = Counts()["path_curve"];
  ASSERT_EQ(curve.size(), 11);
  EXPECT_EQ(curve[3]["distance"], 8);
  EXPECT_EQ(curve[3]["recurrent"], 8);
  EXPECT_EQ(curve[3]["attention"], 1);
  EXPECT_EQ(curve[3]["convolution"], 4);          // two positions a layer
  EXPECT_EQ(curve[3]["dilated_convolution"], 2);  // 2 + 6
}

TEST(Counts, Curves) {
  const Json& points = Counts()["curves"]["16"];
  ASSERT_EQ(points.size(), 5);  // 16 to 4 * 64
  EXPECT_EQ(points[4]["positions"], 256);
  EXPECT_EQ(points[0]["ratio"], 1.0);
  EXPECT_EQ(points[1]["score_elements"], 32 * 32);
  EXPECT_EQ(points[1]["attention_memory_for_next_token"], 2 * 32 * 16);
  EXPECT_EQ(points[1]["recurrent_memory_for_next_token"], 16);
  // 2 T^2 d + 4 T d^2, and 2 T d^2.
  EXPECT_EQ(points[1]["attention_multiply_adds_with_projections"],
            2 * 32 * 32 * 16 + 4 * 32 * 16 * 16);
  EXPECT_EQ(points[1]["recurrent_multiply_adds_with_projections"],
            2 * 32 * 16 * 16);
  EXPECT_EQ(Counts()["curves"]["4"].size(), 5);
}

TEST(Counts, RefusesAKernelThatConnectsNothing) {
  CountOptions options = kOptions;
  options.kernel = 1;
  EXPECT_EQ(MeasureCounts(options).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace softlookup
