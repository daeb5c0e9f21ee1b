// The GPU's side on a driver that drives nothing: every way in which there is
// no GPU, and that copies, memory and times go where they should.
#include "attention/cudnn/gpu.h"

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "attention/cudnn/testing/null_driver.h"
#include "gtest/gtest.h"

namespace softlookup::cudnn {
namespace {

class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
    Set("NULL_DRIVER_DEVICES", "1");
    const auto path = NullDriverPath();
    ASSERT_TRUE(path.ok()) << path.status();
    path_ = *path;
  }
  void TearDown() override {
    for (const std::string& name : set_) ::unsetenv(name.c_str());
  }
  void Set(const std::string& name, const std::string& value) {
    ::setenv(name.c_str(), value.c_str(), 1);
    set_.push_back(name);
  }
  std::string Error() const {
    const absl::Status status = Gpu::Open(path_).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    return std::string(status.message());
  }

  std::string path_;

 private:
  std::vector<std::string> set_;
};

TEST_F(GpuTest, NoDriver) {
  path_ = "/no/libcuda.so.1";
  EXPECT_EQ(Error(), "no NVIDIA driver: /no/libcuda.so.1 cannot be opened");
  path_ = "libm.so.6";
  EXPECT_EQ(Error(), "no NVIDIA driver: libm.so.6 does not say its version");
}

TEST_F(GpuTest, DriverTooOld) {
  Set("NULL_DRIVER_VERSION", "12090");
  EXPECT_EQ(Error(),
            "the NVIDIA driver is too old: it supports CUDA 12.9; needed: 13.0 "
            "or later");
  Set("NULL_DRIVER_VERSION", "13010");
  EXPECT_TRUE(Gpu::Open(path_).ok());
}

TEST_F(GpuTest, NoDevice) {
  Set("NULL_DRIVER_DEVICES", "0");
  EXPECT_EQ(Error(), "no CUDA device: the NVIDIA driver sees none");
}

TEST_F(GpuTest, OtherCapabilities) {
  Set("NULL_DRIVER_CAPABILITY", "89");
  EXPECT_EQ(Error(), "null device has compute capability 8.9; needed: 9.x");
  Set("NULL_DRIVER_CAPABILITY", "100");
  EXPECT_EQ(Error(), "null device has compute capability 10.0; needed: 9.x");
}

TEST_F(GpuTest, SaysWhatItIs) {
  const auto gpu = Gpu::Open(path_);
  ASSERT_TRUE(gpu.ok()) << gpu.status();
  EXPECT_EQ((*gpu)->info().name, "null device");
  EXPECT_EQ((*gpu)->info().capability, 90);
  EXPECT_EQ((*gpu)->info().driver_version, 13000);
  EXPECT_EQ((*gpu)->info().memory_bytes, int64_t{1} << 30);
  EXPECT_NE((*gpu)->stream(), nullptr);
}

TEST_F(GpuTest, OutOfMemoryAndFreed) {
  Set("NULL_DRIVER_MEMORY", "1000");
  auto gpu = Gpu::Open(path_);
  ASSERT_TRUE(gpu.ok()) << gpu.status();
  auto first = (*gpu)->Allocate(600, "query");
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->bytes(), 600);
  const absl::Status status = (*gpu)->Allocate(500, "key").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            "out of GPU memory: key needs 500 bytes; 400 of 1000 are free");
  // Moving does not free, the end does.
  {
    const GpuMemory moved = *std::move(first);
    EXPECT_FALSE((*gpu)->Allocate(500, "key").ok());
  }
  EXPECT_TRUE((*gpu)->Allocate(1000, "key").ok());
}

TEST_F(GpuTest, CopiesAndFills) {
  auto gpu = Gpu::Open(path_);
  ASSERT_TRUE(gpu.ok()) << gpu.status();
  auto memory = (*gpu)->Allocate(8, "query");
  ASSERT_TRUE(memory.ok()) << memory.status();
  ASSERT_TRUE((*gpu)->Fill(memory->address(), 7, 8).ok());
  const std::vector<uint8_t> from = {1, 2, 3};
  ASSERT_TRUE((*gpu)->CopyToGpu(from.data(), 3, memory->address()).ok());
  std::vector<uint8_t> back(8);
  ASSERT_TRUE((*gpu)->CopyFromGpu(memory->address(), 8, back.data()).ok());
  ASSERT_TRUE((*gpu)->Synchronize().ok());
  EXPECT_EQ(back, (std::vector<uint8_t>{1, 2, 3, 7, 7, 7, 7, 7}));
}

TEST_F(GpuTest, TimesWhatIsStarted) {
  auto gpu = Gpu::Open(path_);
  ASSERT_TRUE(gpu.ok()) << gpu.status();
  int calls = 0;
  const auto seconds = (*gpu)->Time([&] {
    ++calls;
    return absl::OkStatus();
  });
  ASSERT_TRUE(seconds.ok()) << seconds.status();
  EXPECT_EQ(calls, 1);
  EXPECT_NEAR(*seconds, 1e-3, 1e-9);  // what the null driver says
  EXPECT_EQ((*gpu)->Time([] { return absl::InternalError("no"); }).status(),
            absl::InternalError("no"));
}

}  // namespace
}  // namespace softlookup::cudnn
