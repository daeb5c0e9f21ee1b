#include "experiments/worked_example/geometry.h"

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/tensor/tensor.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

constexpr double kUnit = 0x1p-53;  // the rounding unit of double

// Twenty roundings of numbers below 4.
constexpr double kTolerance = 20 * 4 * kUnit;

Json Measure() {
  return MeasureGeometry(ChapterExample(), {.draws = 2000, .seed = 5}).value();
}

TEST(WorkedExampleGeometry, OutputsInClosedForm) {
  const Json geometry = Measure();
  const double a = std::exp(std::sqrt(0.5));
  const double e = std::exp(1.0);
  EXPECT_EQ(geometry["output_1"]["distance_from_value_1"], 0.0);
  const Json& second = geometry["output_2"];
  EXPECT_NEAR(second["position_from_1_to_2"].get<double>(), a / (1 + a),
              kTolerance);
  EXPECT_NEAR(second["position_without_scale"].get<double>(), e / (1 + e),
              kTolerance);
  EXPECT_EQ(second["position_of_plain_average"], 0.5);
  EXPECT_LE(second["distance_from_line"].get<double>(), kTolerance);
  const Json& third = geometry["output_3"];
  EXPECT_LE(third["coordinates_from_weights"].get<double>(), kTolerance);
  EXPECT_NEAR(third["coordinates"][2].get<double>(), a / (2 + a), kTolerance);
  EXPECT_NEAR(third["smallest_coordinate"].get<double>(), 1 / (2 + a),
              kTolerance);
  EXPECT_EQ(third["nearest_value"], 3);
  const double x = (1 + 3 * a) / (2 + a);
  const double y = (2 + 3 * a) / (2 + a);
  EXPECT_NEAR(third["distances"][0].get<double>(), std::hypot(x - 1, y),
              kTolerance);
  EXPECT_NEAR(third["lead_of_value_3"].get<double>(),
              std::hypot(x, y - 2) - std::hypot(x - 3, y - 3), kTolerance);
  // The plain average (4/3, 5/3) is nearer to value 2 than to value 3.
  EXPECT_NEAR(third["plain_average"]["lead_of_value_3"].get<double>(),
              std::hypot(4.0 / 3, 1.0 / 3) - std::hypot(5.0 / 3, 4.0 / 3),
              kTolerance);
  // 2 v_3 - o has coordinates -p_1, -p_2, 2 - p_3.
  EXPECT_NEAR(third["beyond_value_3"]["smallest_coordinate"].get<double>(),
              -1 / (2 + a), kTolerance);
}

TEST(WorkedExampleGeometry, AttentionStaysInTheHullAndTheControlsDoNot) {
  const Json geometry = Measure();
  const Json& hull = geometry["hull"];
  EXPECT_EQ(hull["attention"]["outside"], 0);
  // Saturated rows reach the corners, so the bound is met from inside.
  EXPECT_LT(hull["attention"]["smallest_coordinate"].get<double>(), 1e-3);
  EXPECT_LE(hull["attention"]["largest_length"].get<double>(), 1 + kTolerance);
  EXPECT_GT(hull["attention"]["largest_length"].get<double>(), 0.99);
  EXPECT_EQ(hull["attention"]["sample"].size(), 400u);
  for (const char* control : {"scores_without_softmax", "feed_forward"}) {
    EXPECT_GT(hull[control]["outside"].get<int64_t>(), 1000) << control;
    EXPECT_GT(hull[control]["largest_length"].get<double>(), 2) << control;
    EXPECT_LT(hull[control]["smallest_coordinate"].get<double>(), -0.1)
        << control;
  }
  const Json& direction = geometry["new_direction"];
  // A cancellation among components of relative size 1: three products and
  // the cross product's own roundings, over short outputs.
  EXPECT_LT(direction["attention_largest"].get<double>(), 1e-12);
  EXPECT_GT(direction["feed_forward_median"].get<double>(), 0.1);
}

TEST(WorkedExampleGeometry, FirstTokenCopiesItsValueUnderTheMask) {
  const Json first = Measure()["first_token"];
  EXPECT_EQ(first["draws"], 1000);
  EXPECT_EQ(first["largest_distance_from_value_1"], 0.0);
  EXPECT_GT(first["largest_distance_without_mask"].get<double>(), 1);
}

TEST(WorkedExampleGeometry, ResidualPathKeepsTheOwnVector) {
  const Json own = Measure()["own_vector"];
  // The smallest weight that a token gives itself, of rows 1 to 3.
  const double a = std::exp(std::sqrt(0.5));
  EXPECT_NEAR(own["smallest_share_attention_alone"].get<double>(),
              a / (2 * a + 1), 2 * kTolerance);
  EXPECT_NEAR(own["smallest_share_with_residual"].get<double>(),
              1 + a / (2 * a + 1), 2 * kTolerance);
}

TEST(WorkedExampleGeometry, ToleranceGrowsWithTheValuesAndShrinkingArea) {
  // 64 u 3^2 / 7 for the chapter's values.
  const Triangle triangle = ValueTriangle(ChapterExample());
  EXPECT_DOUBLE_EQ(HullTolerance(triangle), 64 * kUnit * 9 / 7);
  EXPECT_DOUBLE_EQ(HullTolerance({{{0, 0}, {-4, 0}, {0, 1}}}),
                   64 * kUnit * 16 / 4);
}

TEST(WorkedExampleGeometry, ValuesOnOneLineAreRefused) {
  WorkedExample example = ChapterExample();
  example.value = Tensor<double>({3, 2}, {0, 0, 1, 1, 2, 2});
  const auto status = MeasureGeometry(example, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("--values"), absl::string_view::npos);
}

}  // namespace
}  // namespace softlookup
