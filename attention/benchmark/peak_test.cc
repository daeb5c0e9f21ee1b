#include "attention/benchmark/peak.h"

#include <algorithm>

#include "attention/kernels/instruction_set.h"
#include "attention/kernels/kernel_test_util.h"
#include "base/thread_pool.h"
#include "gtest/gtest.h"

namespace softlookup::kernels {
namespace {

// Bounds, not values: what a processor does depends on its neighbours. On one
// thread a vector of multiply-adds takes at least a cycle of half a unit, and
// no clock runs faster than 8 GHz.
TEST(MeasurePeak, IsPlausible) {
  for (const auto& [name, run] : EveryRun()) {
    SCOPED_TRACE(name);
    const double peak = MeasurePeak(run, 0.002);
    EXPECT_GT(peak, 1e6);
    const double lanes =
        run.instruction_set == InstructionSet::kAvx512 ? 16 : 8;
    EXPECT_LT(peak, 8e9 * 2 * 2 * lanes *
                        std::min(run.threads(), AvailableProcessors()));
  }
}

}  // namespace
}  // namespace softlookup::kernels
