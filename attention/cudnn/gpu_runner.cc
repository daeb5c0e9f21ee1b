#include "attention/cudnn/gpu_runner.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "attention/cudnn/cudnn_library.h"
#include "base/status.h"

namespace softlookup::cudnn {

absl::Status GpuTensors::Reserve(int64_t bytes, const std::string& what,
                                 GpuMemory& memory) {
  if (memory.address() != nullptr && memory.bytes() >= bytes) {
    return absl::OkStatus();
  }
  // What runs may still use the old memory.
  SOFTLOOKUP_RETURN_IF_ERROR(gpu_->Synchronize());
  ++moves_;
  memory = GpuMemory();
  SOFTLOOKUP_ASSIGN_OR_RETURN(memory, gpu_->Allocate(bytes, what));
  return absl::OkStatus();
}

absl::Status GpuTensors::Upload(
    const std::vector<CudnnTensor>& tensors,
    const std::map<CudnnTensorId, HostBytes>& host) {
  for (const CudnnTensor& tensor : tensors) {
    const auto found = host.find(tensor.id);
    if (found == host.end() || found->second.bytes != tensor.Bytes()) {
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

absl::StatusOr<GpuBinding> GpuTensors::Bind(
    const std::vector<CudnnTensor>& tensors, int64_t workspace_bytes) {
  SOFTLOOKUP_RETURN_IF_ERROR(
      Reserve(workspace_bytes, "cuDNN's workspace", workspace_));
  GpuBinding binding;
  binding.workspace = workspace_.address();
  binding.moves = moves_;
  for (const CudnnTensor& tensor : tensors) {
    const auto found = memory_.find(tensor.id);
    if (found == memory_.end() || found->second.bytes() < tensor.Bytes()) {
      return absl::InternalError(
          absl::StrCat(tensor.name, ": bound before it was uploaded"));
    }
    binding.addresses[static_cast<int64_t>(tensor.id)] =
        found->second.address();
  }
  return binding;
}

absl::Status GpuTensors::CheckCurrent(const GpuBinding& binding) const {
  if (binding.moves == moves_) return absl::OkStatus();
  return absl::InternalError(
      "memory on the GPU has moved since the run was prepared");
}

absl::Status GpuTensors::Download(
    const std::map<CudnnTensorId, HostBytes>& host) {
  for (const auto& [id, bytes] : host) {
    if (bytes.output == nullptr) continue;
    SOFTLOOKUP_RETURN_IF_ERROR(
        gpu_->CopyFromGpu(memory_[id].address(), bytes.bytes, bytes.output));
  }
  return gpu_->Synchronize();
}

GpuRunner::GpuRunner(std::unique_ptr<Gpu> gpu,
                     std::unique_ptr<CudnnHandle> handle,
                     GpuDescription description)
    : gpu_(std::move(gpu)),
      handle_(std::move(handle)),
      description_(std::move(description)),
      plans_(description_),
      memory_(gpu_.get()) {}

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

absl::StatusOr<GpuBinding> GpuRunner::Prepare(
    const std::vector<CudnnTensor>& tensors,
    std::shared_ptr<const CudnnPlan> plan) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(GpuBinding run,
                              memory_.Bind(tensors, plan->workspace_bytes()));
  run.plan = std::move(plan);
  return run;
}

absl::Status GpuRunner::Start(GpuBinding& run) {
  SOFTLOOKUP_RETURN_IF_ERROR(memory_.CheckCurrent(run));
  return run.plan->Execute(*handle_, run.addresses, run.workspace);
}

absl::Status GpuRunner::Run(const CudnnProblem& problem,
                            const std::map<CudnnTensorId, HostBytes>& tensors) {
  // The plan first: an error costs no memory.
  SOFTLOOKUP_ASSIGN_OR_RETURN(std::shared_ptr<const CudnnPlan> plan,
                              plans_.Get(problem));
  const std::vector<CudnnTensor> described = CudnnTensors(problem);
  const auto start = [&]() -> absl::Status {
    SOFTLOOKUP_RETURN_IF_ERROR(memory_.Upload(described, tensors));
    SOFTLOOKUP_ASSIGN_OR_RETURN(GpuBinding run,
                                Prepare(described, std::move(plan)));
    return Start(run);
  };
  const absl::Status status = start();
  if (status.ok()) return memory_.Download(tensors);
  // The caller's memory may go as soon as this returns.
  (void)gpu_->Synchronize();
  return status;
}

}  // namespace softlookup::cudnn
