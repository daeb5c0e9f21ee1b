#include "experiments/induction/phase_change.h"

#include <cstdint>
#include <vector>

#include "base/json.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

TEST(ReachedForGood, IgnoresWhatIsLostAgain) {
  EXPECT_EQ(ReachedForGood({0, 0.6, 0.1, 0.5, 1}, 0.5), 3);
  EXPECT_EQ(ReachedForGood({0, 0.6, 0.7, 0.8, 1}, 0.5), 1);
  // Downwards, and from any start.
  EXPECT_EQ(ReachedForGood({4, 3.9, 1, 0}, 0.5), 2);
  EXPECT_EQ(ReachedForGood({5}, 0.5), 0);
  EXPECT_EQ(ReachedForGood({5, 5, 5}, 0.5), 0);
}

// Ten points, one every 10 steps, whose in-context score, scores of the two
// heads and losses are given.
std::vector<CurvePoint> Curve(const std::vector<double>& in_context,
                              const std::vector<double>& loss) {
  std::vector<CurvePoint> curve;
  for (size_t i = 0; i < in_context.size(); ++i) {
    CurvePoint point;
    point.step = static_cast<int64_t>(10 * i);
    point.in_context = in_context[i];
    // Four sequences around the mean, the same way at every point.
    point.loss = {loss[i] - 0.3, loss[i] - 0.1, loss[i] + 0.1, loss[i] + 0.3};
    point.accuracy = -in_context[i];
    point.heads = {{{.previous_token = i >= 6 ? 1.0 : 0.0}},
                   {{.prefix_matching = i >= 4 ? 1.0 : 0.0}}};
    curve.push_back(point);
  }
  return curve;
}

const HeadPair kPair = {{0, 0}, {1, 0}};

TEST(MeasurePhaseChange, FindsTheWindow) {
  const Json found =
      MeasurePhaseChange(Curve({0, 0, -0.1, -0.15, -0.5, -0.9, -1, -1, -1, -1},
                               {4, 4, 4, 4, 3, 2, 1, 1, 1, 1}),
                         kPair);
  EXPECT_TRUE(found["found"].get<bool>());
  // A fifth of the way is done from point 4 on, four fifths from point 5 on.
  EXPECT_EQ(found["begin"], 30);
  EXPECT_EQ(found["end"], 50);
  EXPECT_EQ(found["half"], 40);
  EXPECT_NEAR(found["share_of_training"].get<double>(), 20.0 / 90, 1e-15);
  EXPECT_EQ(found["induction_half"], 40);
  EXPECT_EQ(found["previous_token_half"], 60);
  EXPECT_EQ(found["copying_half"], 40);
  EXPECT_FALSE(found["bump"]["found"].get<bool>());
}

TEST(MeasurePhaseChange, FindsNoWindowInAFlatScore) {
  const Json found = MeasurePhaseChange(
      Curve({0, -0.01, -0.02, -0.05, -0.05, -0.06, -0.06, -0.07, -0.08, -0.09},
            {4, 4, 4, 4, 4, 4, 4, 4, 4, 4}),
      kPair);
  EXPECT_FALSE(found["found"].get<bool>());
  EXPECT_FALSE(found.contains("begin"));
}

TEST(MeasurePhaseChange, FindsABumpBeforeTheEndOfTheWindowOnly) {
  const std::vector<double> in_context = {0,    0,  0,  0,  -0.5,
                                          -0.9, -1, -1, -1, -1};
  const Json bump = MeasurePhaseChange(
      Curve(in_context, {4, 3.5, 3.6, 3.8, 3.7, 2, 1, 1, 1, 1}), kPair)["bump"];
  EXPECT_TRUE(bump["found"].get<bool>());
  EXPECT_EQ(bump["from"], 10);
  EXPECT_EQ(bump["to"], 30);
  EXPECT_NEAR(bump["rise"]["value"].get<double>(), 0.3, 1e-12);
  // After the window a rise is another matter.
  const Json later = MeasurePhaseChange(
      Curve(in_context, {4, 4, 4, 4, 3, 2, 1, 1, 2, 1}), kPair)["bump"];
  EXPECT_FALSE(later["found"].get<bool>());
}

// A rise that the sequences do not agree on is none.
TEST(MeasurePhaseChange, ARiseWithinTheErrorIsNoBump) {
  std::vector<CurvePoint> curve = Curve({0, 0, 0, -0.5, -1}, {4, 4, 4, 3, 2});
  curve[1].loss = {1, 7, 2, 6.4};  // mean 4.1, against 4
  const Json bump = MeasurePhaseChange(curve, kPair)["bump"];
  EXPECT_FALSE(bump["found"].get<bool>());
  EXPECT_NEAR(bump["rise"]["value"].get<double>(), 0.1, 1e-12);
}

}  // namespace
}  // namespace softlookup
