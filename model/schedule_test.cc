#include "model/schedule.h"

#include <cmath>
#include <string>

#include "gtest/gtest.h"

namespace softlookup {
namespace {

TEST(RateAt, RisesByALineAndThenStays) {
  const RateSchedule schedule = {.peak = 0.5, .warmup = 4, .steps = 10};
  const double expected[] = {0.125, 0.25, 0.375, 0.5, 0.5,
                             0.5,   0.5,  0.5,   0.5, 0.5};
  for (int64_t step = 0; step < 10; ++step) {
    EXPECT_EQ(RateAt(schedule, step), expected[step]) << step;
  }
}

TEST(RateAt, FallsByALineOrHalfACosine) {
  RateSchedule schedule = {
      .peak = 2, .warmup = 2, .steps = 6, .decay = Decay::kLinear};
  const double line[] = {1, 2, 2, 1.5, 1, 0.5};
  const double root = std::sqrt(0.5);
  const double cosine[] = {1, 2, 2, 1 + root, 1, 1 - root};
  for (int64_t step = 0; step < 6; ++step) {
    schedule.decay = Decay::kLinear;
    EXPECT_EQ(RateAt(schedule, step), line[step]) << step;
    schedule.decay = Decay::kCosine;
    EXPECT_NEAR(RateAt(schedule, step), cosine[step], 1e-15) << step;
  }
}

TEST(RateAt, IsNeverZero) {
  for (const Decay decay : {Decay::kConstant, Decay::kLinear, Decay::kCosine}) {
    for (int64_t warmup = 0; warmup <= 5; ++warmup) {
      const RateSchedule schedule = {
          .peak = 1, .warmup = warmup, .steps = 5, .decay = decay};
      for (int64_t step = 0; step < 5; ++step) {
        EXPECT_GT(RateAt(schedule, step), 0);
        EXPECT_LE(RateAt(schedule, step), 1);
      }
    }
  }
}

TEST(CheckSchedule, NamesWhatIsWrong) {
  const auto error = [](const RateSchedule& schedule) {
    return std::string(CheckSchedule(schedule).message());
  };
  EXPECT_EQ(error({}), "");
  EXPECT_EQ(error({.peak = 0}), "peak is 0; allowed: a positive number");
  EXPECT_EQ(error({.peak = INFINITY}),
            "peak is inf; allowed: a positive number");
  EXPECT_EQ(error({.steps = 0}), "steps is 0; allowed: 1 or more");
  EXPECT_EQ(error({.warmup = 9, .steps = 8}),
            "warmup is 9; allowed: 0 to the 8 steps");
}

TEST(ParseDecay, KnowsItsNames) {
  for (const Decay decay : {Decay::kConstant, Decay::kLinear, Decay::kCosine}) {
    EXPECT_EQ(*ParseDecay(DecayName(decay)), decay);
  }
  EXPECT_EQ(ParseDecay("step").status().message(),
            "lr_schedule is \"step\"; allowed: constant, linear, cosine");
}

}  // namespace
}  // namespace softlookup
