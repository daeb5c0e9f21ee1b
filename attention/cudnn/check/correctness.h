// Whether what a runner computes is right: within its bounds (parity_bounds.h),
// the same every time, and the same by a plan that was serialized.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(const ParityResult parity,
//                               CheckParity(drawn, runner));
//   // parity.failures is empty where every result is right
//   SOFTLOOKUP_ASSIGN_OR_RETURN(
//       const bool repeats, GiveSameBits(drawn, {&runner, &runner, &runner}));
#ifndef SOFTLOOKUP_ATTENTION_CUDNN_CHECK_CORRECTNESS_H_
#define SOFTLOOKUP_ATTENTION_CUDNN_CHECK_CORRECTNESS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "attention/cudnn/check/parity_bounds.h"
#include "attention/cudnn/cudnn_attention.h"
#include "attention/cudnn/gpu_runner.h"
#include "attention/cudnn/testing/cudnn_cases.h"

namespace softlookup::cudnn {

struct ParityResult {
  // By the names of ExactAttention.
  std::map<std::string, ParityReport> tensors;
  std::vector<std::string> failures;  // "CASE: output [0, 1]: 0.25 for 0.5"
};

// Forward and backward against the float64 reference: every element within its
// bound and, where that has a meaning, no tensor nearer than rounding allows.
// Errors of the runner.
absl::StatusOr<ParityResult> CheckParity(const CudnnCase& drawn,
                                         CudnnRunner& runner);

// Whether the runners give the same output, log-sum-exp and gradients to the
// bit, forward and backward as the case says, and not only zeros.
absl::StatusOr<bool> GiveSameBits(const CudnnCase& drawn,
                                  const std::vector<CudnnRunner*>& runners);

// The same for plans that were built for the description of an H200, as on a
// machine without one, serialized and loaded, beside the runner's own.
absl::StatusOr<bool> SerializedPlansGiveSameBits(const CudnnCase& drawn,
                                                 GpuRunner& runner);

}  // namespace softlookup::cudnn

#endif  // SOFTLOOKUP_ATTENTION_CUDNN_CHECK_CORRECTNESS_H_
