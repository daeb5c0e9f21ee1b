#include "attention/kernels/kernel_run.h"

#include <cstdint>
#include <thread>

#include "attention/kernels/kernel_options.h"
#include "attention/kernels/kernel_table.h"
#include "gtest/gtest.h"

namespace softlookup::kernels {
namespace {

// The bits do not tell which kernels ran; the table does.
TEST(KernelRunTest, EveryInstructionSetHasItsKernels) {
  EXPECT_EQ(&KernelsFor(InstructionSet::kPortable), &kPortableKernels);
#if defined(__x86_64__)
  EXPECT_EQ(&KernelsFor(InstructionSet::kAvx2), &kAvx2Kernels);
  EXPECT_EQ(&KernelsFor(InstructionSet::kAvx512), &kAvx512Kernels);
  EXPECT_EQ(kAvx2Kernels.lanes, 8);
  EXPECT_EQ(kAvx512Kernels.lanes, 16);
#endif
}

TEST(KernelRunTest, FloatsAreKeptUpToALimitAndOfEachThread) {
  float* const small = ThreadFloats(1000);
  small[999] = 1;
  EXPECT_EQ(ThreadFloats(10), small);
  float* const large = ThreadFloats(5000);
  large[4999] = 2;
  EXPECT_EQ(ThreadFloats(1000), large);
  std::thread([large] { EXPECT_NE(ThreadFloats(1000), large); }).join();
  // More than is kept: written to its end, and then let go.
  constexpr int64_t kMuch = (int64_t{1} << 24) + 1;
  ThreadFloats(kMuch)[kMuch - 1] = 3;
  ThreadFloats(10)[9] = 4;
}

}  // namespace
}  // namespace softlookup::kernels
