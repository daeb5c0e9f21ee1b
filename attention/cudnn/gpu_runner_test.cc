// How far opening gets without a GPU. What a runner does once it is open is for
// gpu_check, on one.
#include "attention/cudnn/gpu_runner.h"

#include <dlfcn.h>

#include <cstdlib>

#include "absl/status/status.h"
#include "attention/cudnn/testing/null_driver.h"
#include "gtest/gtest.h"

namespace softlookup::cudnn {
namespace {

TEST(GpuRunnerTest, SaysWhatIsMissing) {
  if (::dlopen("libcuda.so.1", RTLD_NOW) != nullptr) {
    GTEST_SKIP() << "this machine has a driver";
  }
  EXPECT_EQ(GpuRunner::Open().status(),
            absl::FailedPreconditionError(
                "no NVIDIA driver: libcuda.so.1 cannot be opened"));
  // From here on the null driver is what opens under that name.
  ASSERT_TRUE(UseNullDriver().ok());
  EXPECT_EQ(GpuRunner::Open().status(),
            absl::FailedPreconditionError(
                "no CUDA device: the NVIDIA driver sees none"));
  // The program goes on, and a device that cuDNN refuses is an error too.
  ::setenv("NULL_DRIVER_DEVICES", "1", 1);
  EXPECT_EQ(GpuRunner::Open().status(),
            absl::FailedPreconditionError(
                "cuDNN creates a handle: CUDNN_STATUS_NOT_INITIALIZED"));
}

}  // namespace
}  // namespace softlookup::cudnn
