// How long something takes, on a machine that does other things too: the
// minimum says what the code can do, the median what it mostly did.
//
//   const Timing timing = MeasureTime([&] { Multiply(a, b, c); });
//   std::printf("%.3f ms\n", timing.minimum * 1e3);
#ifndef SOFTLOOKUP_BASE_TIMING_H_
#define SOFTLOOKUP_BASE_TIMING_H_

#include <cstdint>
#include <functional>
#include <vector>

namespace softlookup {

// Seconds of a clock that only goes forward.
double SecondsNow();

struct Timing {
  double minimum = 0;  // seconds per call
  double median = 0;
  int64_t samples = 0;
};

struct TimingOptions {
  int64_t min_samples = 5;
  double min_seconds = 0.1;      // altogether
  double sample_seconds = 2e-4;  // short calls are timed several at a time
};

// Calls `body` once to warm up and then repeatedly.
Timing MeasureTime(const std::function<void()>& body,
                   const TimingOptions& options = {});

// Minimum and median of seconds per call; at least one.
Timing Summarize(std::vector<double> seconds);

}  // namespace softlookup

#endif  // SOFTLOOKUP_BASE_TIMING_H_
