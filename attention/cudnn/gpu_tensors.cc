#include "attention/cudnn/gpu_tensors.h"

#include "absl/strings/str_cat.h"
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

}  // namespace softlookup::cudnn
