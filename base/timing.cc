#include "base/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace softlookup {

double SecondsNow() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Timing Summarize(std::vector<double> seconds) {
  SOFTLOOKUP_CHECK(!seconds.empty(), "something to summarize");
  std::sort(seconds.begin(), seconds.end());
  const size_t middle = seconds.size() / 2;
  Timing timing;
  timing.minimum = seconds.front();
  timing.median = seconds.size() % 2 == 1
                      ? seconds[middle]
                      : (seconds[middle - 1] + seconds[middle]) / 2;
  timing.samples = static_cast<int64_t>(seconds.size());
  return timing;
}

Timing MeasureTime(const std::function<void()>& body,
                   const TimingOptions& options) {
  body();
  double start = SecondsNow();
  body();
  const double once = std::max(SecondsNow() - start, 1e-9);
  const auto calls =
      static_cast<int64_t>(std::ceil(options.sample_seconds / once));
  std::vector<double> seconds;
  double total = 0;
  while (static_cast<int64_t>(seconds.size()) < options.min_samples ||
         total < options.min_seconds) {
    start = SecondsNow();
    for (int64_t call = 0; call < calls; ++call) body();
    const double elapsed = SecondsNow() - start;
    seconds.push_back(elapsed / static_cast<double>(calls));
    total += elapsed;
  }
  return Summarize(std::move(seconds));
}

}  // namespace softlookup
