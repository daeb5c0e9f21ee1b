#include "attention/benchmark/peak.h"

#include <algorithm>
#include <cstdint>

#include "attention/kernels/fma_peak.h"
#include "attention/kernels/kernel_run.h"
#include "base/timing.h"

namespace softlookup::kernels {

double MeasurePeak(const KernelOptions& execution, double seconds) {
  const KernelTable& kernels = KernelsFor(execution.instruction_set);
  const int threads = execution.threads();
  constexpr int kTries = 6;
  int64_t rounds = 64;
  double best = 0;
  // Longer and longer, until what it takes to start one is nothing.
  for (int tries = 0; tries < kTries;) {
    const double try_start = SecondsNow();
    execution.ParallelFor(threads, [&](int64_t) {
      // Stored, so that the work is done.
      [[maybe_unused]] volatile float sum = kernels.fma_chains(rounds);
    });
    const double elapsed = SecondsNow() - try_start;
    const double operations = 2.0 * kPeakChains *
                              static_cast<double>(kernels.lanes * rounds) *
                              threads;
    if (elapsed < seconds / 10) {
      rounds *= 2;
      continue;
    }
    best = std::max(best, operations / elapsed);
    ++tries;
  }
  return best;
}

}  // namespace softlookup::kernels
