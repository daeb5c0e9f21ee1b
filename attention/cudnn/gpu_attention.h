// Attention on a GPU, where the program was built with it and there is one.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(std::unique_ptr<GpuAttention> gpu,
//                               OpenGpuAttention());
//   auto outputs = gpu->Forward(inputs, options, {.element = Dtype::kBF16});
//
// Built with --config=cuda this is attention/cudnn/; otherwise every call says
// that it is not there. A program that links this starts and works on the CPU
// anywhere.
#ifndef SOFTLOOKUP_ATTENTION_CUDNN_GPU_ATTENTION_H_
#define SOFTLOOKUP_ATTENTION_CUDNN_GPU_ATTENTION_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "attention/attention.h"
#include "base/tensor/dtype.h"
#include "base/tensor/strided_view.h"

namespace softlookup {

struct GpuAttentionOptions {
  Dtype element = Dtype::kBF16;  // or kF16: inputs are rounded to it
  // The backward pass has the same bits from run to run, for more memory.
  bool deterministic = false;
};

// Used by the thread that opened it.
class GpuAttention {
 public:
  virtual ~GpuAttention() = default;
  virtual std::string device() const = 0;  // "NVIDIA H200"

  // As attention/cudnn/cudnn_attention.h.
  virtual absl::StatusOr<AttentionOutputs<float>> Forward(
      const AttentionInputs<float>& inputs, const AttentionOptions& options,
      const GpuAttentionOptions& run) = 0;
  virtual absl::StatusOr<AttentionGradients<float>> Backward(
      const AttentionInputs<float>& inputs, const AttentionOptions& options,
      const AttentionOutputs<float>& outputs,
      const StridedView<const float>& output_gradient,
      const GpuAttentionOptions& run) = 0;
};

// FailedPrecondition where the program was built without --config=cuda.
absl::Status CheckGpuAttentionBuilt();

// Whether a GPU, if there is one, computes this: InvalidArgument, naming the
// argument, as attention/cudnn/cudnn_problem.h. Also CheckGpuAttentionBuilt's.
absl::Status CheckGpuAttention(const AttentionInputs<float>& inputs,
                               const AttentionOptions& options, Dtype element,
                               bool backward);

// FailedPrecondition, in one line, for no driver, one that is too old, no
// device, one of another capability, no cuDNN, or one of a wrong version. Also
// CheckGpuAttentionBuilt's.
absl::StatusOr<std::unique_ptr<GpuAttention>> OpenGpuAttention();

}  // namespace softlookup

#endif  // SOFTLOOKUP_ATTENTION_CUDNN_GPU_ATTENTION_H_
