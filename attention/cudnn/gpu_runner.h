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

#include <map>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "attention/cudnn/cudnn_attention.h"
#include "attention/cudnn/cudnn_plan.h"
#include "attention/cudnn/cudnn_problem.h"
#include "attention/cudnn/cudnn_tensors.h"
#include "attention/cudnn/gpu.h"
#include "attention/cudnn/gpu_tensors.h"

namespace softlookup::cudnn {

// A plan and where it works: all that a call needs, looked up once.
class PreparedRun {
 private:
  friend class GpuRunner;
  std::shared_ptr<const CudnnPlan> plan_;
  GpuBinding binding_;
};

class GpuRunner : public CudnnRunner {
 public:
  // FailedPrecondition as Gpu::Open, LoadCudnn and CudnnHandle::Create.
  static absl::StatusOr<std::unique_ptr<GpuRunner>> Open();

  // Upload, Prepare, Start, Download. Unimplemented where cuDNN has no plan,
  // FailedPrecondition for too little memory on the GPU, Internal for what
  // fails there.
  absl::Status Run(const CudnnProblem& problem,
                   const std::map<CudnnTensorId, HostBytes>& tensors) override;

  // The parts of a run, to time one of them; the problem may also be none of
  // attention's. Upload and Download are GpuTensors'. Prepare is for tensors
  // that were uploaded. Start computes on what lies there, any number of times,
  // without waiting; Internal once an Upload or a Prepare has moved memory.
  absl::Status Upload(const std::vector<CudnnTensor>& tensors,
                      const std::map<CudnnTensorId, HostBytes>& host) {
    return memory_.Upload(tensors, host);
  }
  absl::StatusOr<PreparedRun> Prepare(const std::vector<CudnnTensor>& tensors,
                                      std::shared_ptr<const CudnnPlan> plan);
  absl::Status Start(PreparedRun& run);
  absl::Status Download(const std::map<CudnnTensorId, HostBytes>& host) {
    return memory_.Download(host);
  }

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
