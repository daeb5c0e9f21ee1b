#include "experiments/multi_head/places.h"

#include <cmath>

#include "base/json.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

TEST(MeasureTwoPlaces, OneHeadStaysOnTheSegment) {
  const Json places = MeasureTwoPlaces(30, 4).value();
  EXPECT_EQ(places["score_gaps"], Json({-30.0, -15.0, 0.0, 15.0, 30.0}));
  EXPECT_EQ(places["one_head"]["even_output"], Json({0.5, 0.5}));
  EXPECT_EQ(places["one_head"]["even_distance_to_nearer_value"], 0.5);
  EXPECT_EQ(places["one_head"]["smallest_distance_to_the_farther_value"], 0.5);
  EXPECT_LE(places["one_head"]["largest_deviation_from_the_segment"], 1.2e-15);
  // Weight on the other value: e^-30, next to a weight that is rounded in
  // units of 2^-53.
  EXPECT_NEAR(
      places["two_heads"]["distance_to_the_farther_value"].get<double>(),
      std::exp(-30.0), 2 * 0x1p-53);
  EXPECT_NEAR(places["weight_of_a"][3].get<double>(), 1 / (1 + std::exp(-15.0)),
              1e-15);
  EXPECT_GT(places["distance_to_a"][0], places["distance_to_a"][4]);
  EXPECT_LT(places["distance_to_b"][0], places["distance_to_b"][4]);
}

TEST(MeasureManyPlaces, OneForEachHead) {
  const Json places = MeasureManyPlaces(5, 20).value();
  EXPECT_EQ(places["heads"], 5);
  EXPECT_EQ(places["places_reached"], 5);
  EXPECT_EQ(places["places_reached_by_one_head"], 1);
  // Without any preference, nothing gets 0.99.
  EXPECT_EQ(MeasureManyPlaces(5, 0).value()["places_reached"], 0);
}

}  // namespace
}  // namespace softlookup
