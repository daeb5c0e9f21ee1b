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

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "attention/cudnn/cudnn_attention.h"
#include "attention/cudnn/cudnn_plan.h"
#include "attention/cudnn/cudnn_problem.h"
#include "attention/cudnn/cudnn_tensors.h"
#include "attention/cudnn/gpu.h"

namespace softlookup::cudnn {

class GpuRunner : public CudnnRunner {
 public:
  // FailedPrecondition as Gpu::Open, LoadCudnn and CudnnHandle::Create.
  static absl::StatusOr<std::unique_ptr<GpuRunner>> Open();

  // Upload, Start, Download. Unimplemented where cuDNN has no plan,
  // FailedPrecondition for too little memory on the GPU, Internal for what
  // fails there.
  absl::Status Run(const CudnnProblem& problem,
                   const std::map<CudnnTensorId, HostBytes>& tensors) override;

  // The parts of a run, to time one of them. Upload copies the inputs and
  // clears the outputs, so that what cuDNN does not write is 0; Start computes
  // on what lies there, any number of times, without waiting; Download waits.
  absl::Status Upload(const CudnnProblem& problem,
                      const std::map<CudnnTensorId, HostBytes>& tensors);
  absl::Status Start(const CudnnProblem& problem);
  absl::Status Start(const CudnnProblem& problem, const CudnnPlan& plan);
  absl::Status Download(const std::map<CudnnTensorId, HostBytes>& tensors);

  Gpu& gpu() { return *gpu_; }
  const CudnnHandle& handle() const { return *handle_; }
  CudnnPlanCache& plans() { return plans_; }

 private:
  GpuRunner(std::unique_ptr<Gpu> gpu, std::unique_ptr<CudnnHandle> handle,
            GpuDescription description);

  // At least this many bytes in `memory`, which only grows.
  absl::Status Reserve(int64_t bytes, const std::string& what,
                       GpuMemory& memory);

  // In this order: what is on the GPU goes before it.
  std::unique_ptr<Gpu> gpu_;
  std::unique_ptr<CudnnHandle> handle_;
  CudnnPlanCache plans_;
  std::map<CudnnTensorId, GpuMemory> memory_;
  GpuMemory workspace_;
};

}  // namespace softlookup::cudnn

#endif  // SOFTLOOKUP_ATTENTION_CUDNN_GPU_RUNNER_H_
