#include "attention/kernels/peak.h"

#include "attention/kernels/kernel_test_util.h"
#include "gtest/gtest.h"

namespace softlookup::kernels {
namespace {

// From a slow emulated multiply-add on one thread to sixteen fast cores.
TEST(MeasurePeak, IsPlausible) {
  for (const auto& [name, run] : EveryRun()) {
    const double peak = MeasurePeak(run, 0.002);
    EXPECT_GT(peak, 1e6) << name;
    EXPECT_LT(peak, 1e13) << name;
  }
}

}  // namespace
}  // namespace softlookup::kernels
