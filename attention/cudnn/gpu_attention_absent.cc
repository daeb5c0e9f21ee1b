// attention/cudnn/gpu_attention.h in a build without --config=cuda.
#include "attention/cudnn/gpu_attention.h"

namespace softlookup {

absl::Status CheckGpuAttentionBuilt() {
  return absl::FailedPreconditionError(
      "built without cuDNN: build with --config=cuda");
}

absl::Status CheckGpuAttention(const AttentionInputs<float>&,
                               const AttentionOptions&, Dtype, bool) {
  return CheckGpuAttentionBuilt();
}

absl::StatusOr<std::unique_ptr<GpuAttention>> OpenGpuAttention() {
  return CheckGpuAttentionBuilt();
}

}  // namespace softlookup
