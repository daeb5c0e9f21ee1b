// On a driver whose device's memory is the host's.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "attention/cudnn/gpu_runner.h"
#include "attention/cudnn/testing/null_driver.h"
#include "gtest/gtest.h"

namespace softlookup::cudnn {
namespace {

CudnnTensor Named(CudnnTensorId id, int64_t elements, bool written) {
  return {id,     written ? "output" : "query", Dtype::kF16, {elements}, {1},
          written};
}

class GpuTensorsTest : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("NULL_DRIVER_DEVICES", "1", 1);
    const auto path = NullDriverPath();
    ASSERT_TRUE(path.ok()) << path.status();
    auto gpu = Gpu::Open(*path);
    ASSERT_TRUE(gpu.ok()) << gpu.status();
    gpu_ = *std::move(gpu);
    memory_ = std::make_unique<GpuTensors>(gpu_.get());
  }
  void TearDown() override {
    memory_.reset();
    gpu_.reset();
    ::unsetenv("NULL_DRIVER_DEVICES");
  }

  // A query to read and an output to write, of so many elements.
  absl::Status Upload(int64_t elements) {
    tensors_ = {Named(CudnnTensorId::kQuery, elements, false),
                Named(CudnnTensorId::kOutput, elements, true)};
    query_.assign(elements, 0x3c00);
    output_.assign(elements, 0x7777);
    host_ = {{CudnnTensorId::kQuery,
              {.input = query_.data(), .bytes = 2 * elements}},
             {CudnnTensorId::kOutput,
              {.output = output_.data(), .bytes = 2 * elements}}};
    return memory_->Upload(tensors_, host_);
  }

  std::unique_ptr<Gpu> gpu_;
  std::unique_ptr<GpuTensors> memory_;
  std::vector<CudnnTensor> tensors_;
  std::vector<uint16_t> query_;
  std::vector<uint16_t> output_;
  std::map<CudnnTensorId, HostBytes> host_;
};

TEST_F(GpuTensorsTest, CopiesWhatIsReadAndClearsWhatIsWritten) {
  ASSERT_TRUE(Upload(3).ok());
  const auto binding = memory_->Bind(tensors_, 16);
  ASSERT_TRUE(binding.ok()) << binding.status();
  ASSERT_EQ(binding->addresses.size(), 2u);
  EXPECT_NE(binding->workspace, nullptr);
  const auto* query = static_cast<const uint16_t*>(
      binding->addresses.at(static_cast<int64_t>(CudnnTensorId::kQuery)));
  auto* output = static_cast<uint16_t*>(
      binding->addresses.at(static_cast<int64_t>(CudnnTensorId::kOutput)));
  EXPECT_EQ(query[2], 0x3c00);
  EXPECT_EQ(output[2], 0);
  output[1] = 5;
  ASSERT_TRUE(memory_->Download(host_).ok());
  EXPECT_EQ(output_, (std::vector<uint16_t>{0, 5, 0}));
}

TEST_F(GpuTensorsTest, SeesThatMemoryMoved) {
  ASSERT_TRUE(Upload(100).ok());
  const auto binding = memory_->Bind(tensors_, 16);
  ASSERT_TRUE(binding.ok()) << binding.status();
  EXPECT_TRUE(memory_->CheckCurrent(*binding).ok());
  // What fits stays where it is.
  ASSERT_TRUE(Upload(50).ok());
  ASSERT_TRUE(memory_->Bind(tensors_, 8).ok());
  EXPECT_TRUE(memory_->CheckCurrent(*binding).ok());
  // What does not, moves, and the workspace too.
  ASSERT_TRUE(memory_->Bind(tensors_, 1000).ok());
  EXPECT_EQ(memory_->CheckCurrent(*binding),
            absl::InternalError(
                "memory on the GPU has moved since the run was prepared"));
  const auto again = memory_->Bind(tensors_, 16);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(memory_->CheckCurrent(*again).ok());
  ASSERT_TRUE(Upload(200).ok());
  EXPECT_FALSE(memory_->CheckCurrent(*again).ok());
}

TEST_F(GpuTensorsTest, RefusesOtherBytesAndWhatWasNeverUploaded) {
  ASSERT_TRUE(Upload(3).ok());
  host_[CudnnTensorId::kQuery].bytes = 4;
  EXPECT_EQ(memory_->Upload(tensors_, host_),
            absl::InternalError("query: not the bytes of the problem"));
  host_.erase(CudnnTensorId::kQuery);
  EXPECT_FALSE(memory_->Upload(tensors_, host_).ok());
  EXPECT_EQ(memory_->Bind({Named(CudnnTensorId::kKey, 3, false)}, 0).status(),
            absl::InternalError("query: bound before it was uploaded"));
  EXPECT_FALSE(memory_->Bind({Named(CudnnTensorId::kQuery, 4, false)}, 0).ok());
}

TEST_F(GpuTensorsTest, OutOfMemoryNamesTheTensor) {
  ::setenv("NULL_DRIVER_MEMORY", "1000", 1);
  const absl::Status status = Upload(400);
  ::unsetenv("NULL_DRIVER_MEMORY");
  EXPECT_EQ(status,
            absl::FailedPreconditionError("out of GPU memory: output needs 800 "
                                          "bytes; 200 of 1000 are free"));
}

}  // namespace
}  // namespace softlookup::cudnn
