// One NVIDIA GPU: its driver opened when needed, memory, streams, events.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(std::unique_ptr<Gpu> gpu, Gpu::Open());
//   SOFTLOOKUP_ASSIGN_OR_RETURN(GpuMemory memory, gpu->Allocate(1024,
//   "query")); SOFTLOOKUP_RETURN_IF_ERROR(gpu->CopyToGpu(host, 1024,
//   memory.address())); SOFTLOOKUP_RETURN_IF_ERROR(gpu->Synchronize());
//
// Uses the CUDA driver API alone (cuda.h, CUDA 13.0): the CUDA runtime is not
// needed. Nothing is linked: where there is no driver, Open says so and the
// program goes on.
#ifndef SOFTLOOKUP_ATTENTION_CUDNN_GPU_H_
#define SOFTLOOKUP_ATTENTION_CUDNN_GPU_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace softlookup::cudnn {

// As cuDriverGetVersion counts: 1000 * major + 10 * minor.
inline constexpr int kMinDriverVersion = 13000;
// The compute capabilities (times ten) whose limits cudnn_problem.h states:
// Hopper's.
inline constexpr int kMinCapability = 90;
inline constexpr int kCapabilityEnd = 100;

struct GpuInfo {
  std::string name;        // "NVIDIA H200"
  int capability = 0;      // compute capability times ten
  int driver_version = 0;  // the CUDA version that the driver supports
  int64_t memory_bytes = 0;
};

// "13.0", from 13000.
std::string CudaVersionName(int version);

struct GpuFunctions;

// Memory on the GPU, freed with this object.
class GpuMemory {
 public:
  GpuMemory() = default;
  GpuMemory(const GpuFunctions* functions, void* address, int64_t bytes)
      : functions_(functions), address_(address), bytes_(bytes) {}
  GpuMemory(GpuMemory&& other) noexcept { *this = std::move(other); }
  GpuMemory& operator=(GpuMemory&& other) noexcept;
  ~GpuMemory();

  void* address() const { return address_; }
  int64_t bytes() const { return bytes_; }

 private:
  const GpuFunctions* functions_ = nullptr;
  void* address_ = nullptr;
  int64_t bytes_ = 0;
};

class Gpu {
 public:
  // Device 0 of the driver library `driver`, its primary context made current
  // on this thread, and a stream. FailedPrecondition, each in a line of its
  // own, for no driver, one that is too old, no device, and a compute
  // capability that this folder does not know.
  static absl::StatusOr<std::unique_ptr<Gpu>> Open(
      const std::string& driver = "libcuda.so.1");
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  const GpuInfo& info() const { return info_; }
  void* stream() const { return stream_; }  // a CUstream

  // FailedPrecondition, with the bytes wanted and free, when they are not
  // there. `what` names the tensor.
  absl::StatusOr<GpuMemory> Allocate(int64_t bytes, const std::string& what);

  // In the stream's order. The host's memory must last until Synchronize.
  absl::Status CopyToGpu(const void* from, int64_t bytes, void* to);
  absl::Status CopyFromGpu(const void* from, int64_t bytes, void* to);
  absl::Status Fill(void* address, uint8_t byte, int64_t bytes);
  // Waits for all that was started; Internal for what failed meanwhile.
  absl::Status Synchronize();

  // Seconds on the GPU, by events, that what `start` starts takes.
  absl::StatusOr<double> Time(const std::function<absl::Status()>& start);

 private:
  explicit Gpu(std::unique_ptr<GpuFunctions> functions);
  absl::Status Initialise();

  std::unique_ptr<GpuFunctions> functions_;
  GpuInfo info_;
  int device_ = 0;
  bool context_retained_ = false;
  void* stream_ = nullptr;
};

}  // namespace softlookup::cudnn

#endif  // SOFTLOOKUP_ATTENTION_CUDNN_GPU_H_
