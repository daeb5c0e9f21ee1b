// Memory on the GPU for the tensors of one problem after another: it is kept
// and only grows.
//
//   GpuTensors memory(gpu.get());
//   SOFTLOOKUP_RETURN_IF_ERROR(memory.Upload(tensors, host));
//   SOFTLOOKUP_ASSIGN_OR_RETURN(GpuBinding binding,
//                               memory.Bind(tensors, workspace_bytes));
//   ... run on binding.addresses and binding.workspace ...
//   SOFTLOOKUP_RETURN_IF_ERROR(memory.Download(host));
#ifndef SOFTLOOKUP_ATTENTION_CUDNN_GPU_TENSORS_H_
#define SOFTLOOKUP_ATTENTION_CUDNN_GPU_TENSORS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "attention/cudnn/cudnn_attention.h"
#include "attention/cudnn/cudnn_plan.h"
#include "attention/cudnn/cudnn_tensors.h"
#include "attention/cudnn/gpu.h"

namespace softlookup::cudnn {

// Where a problem's tensors lie, and a workspace.
struct GpuBinding {
  CudnnAddresses addresses;
  void* workspace = nullptr;
  int64_t moves = 0;  // GpuTensors' count when it was made
};

class GpuTensors {
 public:
  // The GPU must outlive this object.
  explicit GpuTensors(Gpu* gpu) : gpu_(gpu) {}

  // Copies what is read and clears what is written, so that what cuDNN does not
  // write is 0. `host` has an entry for each tensor. FailedPrecondition for too
  // little memory, Internal for other bytes than the tensors'.
  absl::Status Upload(const std::vector<CudnnTensor>& tensors,
                      const std::map<CudnnTensorId, HostBytes>& host);

  // Where Upload put these tensors, and a workspace of this size, which one
  // binding after another shares. FailedPrecondition for too little memory,
  // Internal for a tensor that was never uploaded.
  absl::StatusOr<GpuBinding> Bind(const std::vector<CudnnTensor>& tensors,
                                  int64_t workspace_bytes);

  // Internal if some memory has moved since the binding was made.
  absl::Status CheckCurrent(const GpuBinding& binding) const;

  // Copies to every `output` and waits.
  absl::Status Download(const std::map<CudnnTensorId, HostBytes>& host);

 private:
  // At least this many bytes in `memory`.
  absl::Status Reserve(int64_t bytes, const std::string& what,
                       GpuMemory& memory);

  Gpu* gpu_;
  std::map<CudnnTensorId, GpuMemory> memory_;
  GpuMemory workspace_;
  int64_t moves_ = 0;  // how often memory was allocated anew
};

}  // namespace softlookup::cudnn

#endif  // SOFTLOOKUP_ATTENTION_CUDNN_GPU_TENSORS_H_
