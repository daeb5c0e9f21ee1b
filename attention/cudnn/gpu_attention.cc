// attention/cudnn/gpu_attention.h with cuDNN; the other half is
// attention/cudnn/gpu_attention_absent.cc.
#include "attention/cudnn/gpu_attention.h"

#include <memory>
#include <utility>

#include "attention/cudnn/cudnn_attention.h"
#include "attention/cudnn/cudnn_problem.h"
#include "attention/cudnn/gpu_runner.h"
#include "base/status.h"

namespace softlookup {
namespace {

class CudnnGpuAttention : public GpuAttention {
 public:
  explicit CudnnGpuAttention(std::unique_ptr<cudnn::GpuRunner> runner)
      : runner_(std::move(runner)) {}

  std::string device() const override { return runner_->gpu().info().name; }

  absl::StatusOr<AttentionOutputs<float>> Forward(
      const AttentionInputs<float>& inputs, const AttentionOptions& options,
      const GpuAttentionOptions& run) override {
    return On(run).Forward(inputs, options);
  }

  absl::StatusOr<AttentionGradients<float>> Backward(
      const AttentionInputs<float>& inputs, const AttentionOptions& options,
      const AttentionOutputs<float>& outputs,
      const StridedView<const float>& output_gradient,
      const GpuAttentionOptions& run) override {
    return On(run).Backward(inputs, options, outputs, output_gradient);
  }

 private:
  cudnn::CudnnAttention On(const GpuAttentionOptions& run) const {
    return cudnn::CudnnAttention(
        runner_.get(),
        {.element = run.element, .deterministic = run.deterministic});
  }

  std::unique_ptr<cudnn::GpuRunner> runner_;
};

}  // namespace

absl::Status CheckGpuAttentionBuilt() { return absl::OkStatus(); }

absl::Status CheckGpuAttention(const AttentionInputs<float>& inputs,
                               const AttentionOptions& options, Dtype element,
                               bool backward) {
  return cudnn::DescribeCudnnProblem(inputs, options,
                                     {.element = element, .backward = backward})
      .status();
}

absl::StatusOr<std::unique_ptr<GpuAttention>> OpenGpuAttention() {
  SOFTLOOKUP_ASSIGN_OR_RETURN(std::unique_ptr<cudnn::GpuRunner> runner,
                              cudnn::GpuRunner::Open());
  return std::make_unique<CudnnGpuAttention>(std::move(runner));
}

}  // namespace softlookup
