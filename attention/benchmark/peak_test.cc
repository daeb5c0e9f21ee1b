#include "attention/benchmark/peak.h"

#include <algorithm>

#include "attention/kernels/kernel_options.h"
#include "attention/kernels/kernel_test_util.h"
#include "base/thread_pool.h"
#include "gtest/gtest.h"

namespace softlookup::kernels {
namespace {

// Bounds, not values: what a processor does depends on its neighbours. On one
// thread a vector of multiply-adds takes at least a cycle of half a unit, and
// no clock runs faster than 8 GHz.
TEST(MeasurePeak, IsPlausible) {
  for (const auto& [name, execution] : EveryRun()) {
    SCOPED_TRACE(name);
    const double peak = MeasurePeak(execution, 0.002);
    EXPECT_GT(peak, 1e6);
    const double lanes =
        execution.instruction_set == InstructionSet::kAvx512 ? 16 : 8;
    EXPECT_LT(peak, 8e9 * 2 * 2 * lanes *
                        std::min(execution.threads(), AvailableProcessors()));
  }
}

}  // namespace
}  // namespace softlookup::kernels
