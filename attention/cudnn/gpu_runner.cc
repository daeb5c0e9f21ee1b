#include "attention/cudnn/gpu_runner.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attention/cudnn/cudnn_library.h"
#include "base/status.h"

namespace softlookup::cudnn {

GpuRunner::GpuRunner(std::unique_ptr<Gpu> gpu,
                     std::unique_ptr<CudnnHandle> handle,
                     GpuDescription description)
    : gpu_(std::move(gpu)),
      handle_(std::move(handle)),
      plans_(std::move(description)) {}

absl::StatusOr<std::unique_ptr<GpuRunner>> GpuRunner::Open() {
  // The GPU first: that there is none is the more useful message.
  SOFTLOOKUP_ASSIGN_OR_RETURN(std::unique_ptr<Gpu> gpu, Gpu::Open());
  SOFTLOOKUP_RETURN_IF_ERROR(LoadCudnn());
  SOFTLOOKUP_ASSIGN_OR_RETURN(std::unique_ptr<CudnnHandle> handle,
                              CudnnHandle::Create());
  SOFTLOOKUP_RETURN_IF_ERROR(handle->SetStream(gpu->stream()));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      GpuDescription description,
      GpuDescription::OfDevice(0, gpu->info().capability));
  return std::unique_ptr<GpuRunner>(
      new GpuRunner(std::move(gpu), std::move(handle), std::move(description)));
}

absl::Status GpuRunner::Reserve(int64_t bytes, const std::string& what,
                                GpuMemory& memory) {
  if (memory.address() != nullptr && memory.bytes() >= bytes) {
    return absl::OkStatus();
  }
  // What runs may still use the old memory.
  SOFTLOOKUP_RETURN_IF_ERROR(gpu_->Synchronize());
  memory = GpuMemory();
  SOFTLOOKUP_ASSIGN_OR_RETURN(memory, gpu_->Allocate(bytes, what));
  return absl::OkStatus();
}

absl::Status GpuRunner::Upload(
    const CudnnProblem& problem,
    const std::map<CudnnTensorId, HostBytes>& tensors) {
  for (const CudnnTensor& tensor : CudnnTensors(problem)) {
    const auto found = tensors.find(tensor.id);
    if (found == tensors.end() || found->second.bytes != tensor.Bytes()) {
      return absl::InternalError(
          absl::StrCat(tensor.name, ": not the bytes of the problem"));
    }
    GpuMemory& memory = memory_[tensor.id];
    SOFTLOOKUP_RETURN_IF_ERROR(Reserve(tensor.Bytes(), tensor.name, memory));
    SOFTLOOKUP_RETURN_IF_ERROR(
        tensor.written ? gpu_->Fill(memory.address(), 0, tensor.Bytes())
                       : gpu_->CopyToGpu(found->second.input, tensor.Bytes(),
                                         memory.address()));
  }
  return absl::OkStatus();
}

absl::Status GpuRunner::Start(const CudnnProblem& problem) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const std::shared_ptr<const CudnnPlan> plan,
                              plans_.Get(problem));
  return Start(problem, *plan);
}

absl::Status GpuRunner::Start(const CudnnProblem& problem,
                              const CudnnPlan& plan) {
  SOFTLOOKUP_RETURN_IF_ERROR(
      Reserve(plan.workspace_bytes(), "cuDNN's workspace", workspace_));
  std::map<CudnnTensorId, void*> addresses;
  for (const CudnnTensor& tensor : CudnnTensors(problem)) {
    addresses[tensor.id] = memory_[tensor.id].address();
  }
  return plan.Execute(*handle_, addresses, workspace_.address());
}

absl::Status GpuRunner::Download(
    const std::map<CudnnTensorId, HostBytes>& tensors) {
  for (const auto& [id, host] : tensors) {
    if (host.output == nullptr) continue;
    SOFTLOOKUP_RETURN_IF_ERROR(
        gpu_->CopyFromGpu(memory_[id].address(), host.bytes, host.output));
  }
  return gpu_->Synchronize();
}

absl::Status GpuRunner::Run(const CudnnProblem& problem,
                            const std::map<CudnnTensorId, HostBytes>& tensors) {
  // The plan first: an error costs no memory.
  SOFTLOOKUP_ASSIGN_OR_RETURN(const std::shared_ptr<const CudnnPlan> plan,
                              plans_.Get(problem));
  absl::Status status = Upload(problem, tensors);
  if (status.ok()) status = Start(problem, *plan);
  if (status.ok()) return Download(tensors);
  // The caller's memory may go as soon as this returns.
  (void)gpu_->Synchronize();
  return status;
}

}  // namespace softlookup::cudnn
