#include "attention/cudnn/gpu_runner.h"

#include <utility>

#include "attention/cudnn/cudnn_library.h"
#include "base/status.h"

namespace softlookup::cudnn {

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

absl::StatusOr<PreparedRun> GpuRunner::Prepare(
    const std::vector<CudnnTensor>& tensors,
    std::shared_ptr<const CudnnPlan> plan) {
  PreparedRun run;
  SOFTLOOKUP_ASSIGN_OR_RETURN(run.binding_,
                              memory_.Bind(tensors, plan->workspace_bytes()));
  run.plan_ = std::move(plan);
  return run;
}

absl::Status GpuRunner::Start(PreparedRun& run) {
  SOFTLOOKUP_RETURN_IF_ERROR(memory_.CheckCurrent(run.binding_));
  return run.plan_->Execute(*handle_, run.binding_.addresses,
                            run.binding_.workspace);
}

absl::Status GpuRunner::Run(const CudnnProblem& problem,
                            const std::map<CudnnTensorId, HostBytes>& tensors) {
  // The plan first: an error costs no memory.
  SOFTLOOKUP_ASSIGN_OR_RETURN(std::shared_ptr<const CudnnPlan> plan,
                              plans_.Get(problem));
  const std::vector<CudnnTensor> described = CudnnTensors(problem);
  const auto start = [&]() -> absl::Status {
    SOFTLOOKUP_RETURN_IF_ERROR(Upload(described, tensors));
    SOFTLOOKUP_ASSIGN_OR_RETURN(PreparedRun run,
                                Prepare(described, std::move(plan)));
    return Start(run);
  };
  const absl::Status status = start();
  if (status.ok()) return Download(tensors);
  // The caller's memory may go as soon as this returns.
  (void)gpu_->Synchronize();
  return status;
}

}  // namespace softlookup::cudnn
