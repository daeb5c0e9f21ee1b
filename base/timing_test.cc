#include "base/timing.h"

#include "gtest/gtest.h"

namespace softlookup {
namespace {

TEST(Timing, MinimumAndMedian) {
  const Timing odd = Summarize({3, 1, 2});
  EXPECT_EQ(odd.minimum, 1);
  EXPECT_EQ(odd.median, 2);
  EXPECT_EQ(odd.samples, 3);
  EXPECT_EQ(Summarize({4, 1, 3, 2}).median, 2.5);
  EXPECT_EQ(Summarize({7}).median, 7);
}

// A body that takes a known time by the very clock that measures it.
TEST(Timing, IsTimePerCall) {
  for (const double seconds : {1e-5, 2e-3}) {
    int64_t calls = 0;
    const Timing timing = MeasureTime(
        [&] {
          ++calls;
          const double start = SecondsNow();
          while (SecondsNow() - start < seconds) {
          }
        },
        {.min_samples = 7, .min_seconds = 0});
    EXPECT_GE(timing.minimum, seconds);
    EXPECT_GE(timing.median, timing.minimum);
    EXPECT_EQ(timing.samples, 7);
    // Two to start with, then seven samples of one or several calls.
    EXPECT_GE(calls, 9);
    if (seconds < 1e-4) {
      EXPECT_GT(calls, 9);
    }
  }
}

TEST(Timing, GoesOnForTheTimeAskedFor) {
  const double start = SecondsNow();
  const Timing timing =
      MeasureTime([] {}, {.min_samples = 1, .min_seconds = 0.02});
  EXPECT_GE(SecondsNow() - start, 0.02);
  EXPECT_GT(timing.samples, 1);
}

}  // namespace
}  // namespace softlookup
