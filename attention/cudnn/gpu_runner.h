// Problems computed by cuDNN on a GPU: plans, memory and workspace are kept and
// used again.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(std::unique_ptr<GpuRunner> runner,
//                               GpuRunner::Open());
//   const CudnnAttention attention(runner.get(), {});
//
// One thread at a time, and the one that opened it: the GPU's context is
// current there.
#ifndef SOFTLOOKUP_ATTENTION_CUDNN_GPU_RUNNER_H_
#define SOFTLOOKUP_ATTENTION_CUDNN_GPU_RUNNER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "attention/cudnn/cudnn_attention.h"
#include "attention/cudnn/cudnn_plan.h"
#include "attention/cudnn/cudnn_problem.h"
#include "attention/cudnn/gpu.h"

namespace softlookup::cudnn {

// Where a problem's tensors lie, a workspace, and the plan that works there.
struct GpuBinding {
  std::shared_ptr<const CudnnPlan> plan;
  CudnnAddresses addresses;
  void* workspace = nullptr;
  int64_t moves = 0;  // GpuTensors' count when it was made
};

// Memory for the tensors of one problem after another: it is kept and only
// grows.
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

class GpuRunner : public CudnnRunner {
 public:
  // FailedPrecondition as Gpu::Open, LoadCudnn and CudnnHandle::Create.
  static absl::StatusOr<std::unique_ptr<GpuRunner>> Open();

  // memory().Upload, Prepare, Start, memory().Download. Unimplemented where
  // cuDNN has no plan, FailedPrecondition for too little memory on the GPU,
  // Internal for what fails there.
  absl::Status Run(const CudnnProblem& problem,
                   const std::map<CudnnTensorId, HostBytes>& tensors) override;

  // The parts of a run, to time one of them. Prepare is for tensors that were
  // uploaded. Start computes on what lies there, any number of times, without
  // waiting; Internal once an Upload or a Prepare has moved memory.
  GpuTensors& memory() { return memory_; }
  absl::StatusOr<GpuBinding> Prepare(const std::vector<CudnnTensor>& tensors,
                                     std::shared_ptr<const CudnnPlan> plan);
  absl::Status Start(GpuBinding& run);

  Gpu& gpu() { return *gpu_; }
  const CudnnHandle& handle() const { return *handle_; }
  const GpuDescription& description() const { return description_; }
  CudnnPlanCache& plans() { return plans_; }

 private:
  GpuRunner(std::unique_ptr<Gpu> gpu, std::unique_ptr<CudnnHandle> handle,
            GpuDescription description);

  // In this order: what is on the GPU goes before it.
  std::unique_ptr<Gpu> gpu_;
  std::unique_ptr<CudnnHandle> handle_;
  const GpuDescription description_;
  CudnnPlanCache plans_;
  GpuTensors memory_;
};

}  // namespace softlookup::cudnn

#endif  // SOFTLOOKUP_ATTENTION_CUDNN_GPU_RUNNER_H_
