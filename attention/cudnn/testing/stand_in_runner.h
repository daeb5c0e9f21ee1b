// A stand-in for cuDNN, for tests: the reference in float64 on the rounded
// inputs, its results rounded to the element type. Like cuDNN it promises
// nothing about rows and keys that nothing sees, and leaves NaN there.
//
//   StandInRunner runner;
//   const CudnnAttention attention(&runner, {.element = Dtype::kBF16});
//
// It is stricter than cuDNN about what it is given: Internal for tensors that
// are not those of the problem, for a log-sum-exp that is not finite and for
// gradients of a row that sees nothing.
#ifndef SOFTLOOKUP_ATTENTION_CUDNN_TESTING_STAND_IN_RUNNER_H_
#define SOFTLOOKUP_ATTENTION_CUDNN_TESTING_STAND_IN_RUNNER_H_

#include <map>

#include "absl/status/status.h"
#include "attention/cudnn/cudnn_attention.h"
#include "attention/cudnn/cudnn_problem.h"

namespace softlookup::cudnn {

class StandInRunner : public CudnnRunner {
 public:
  absl::Status Run(const CudnnProblem& problem,
                   const std::map<CudnnTensorId, HostBytes>& tensors) override;

  int runs = 0;
  CudnnProblem last;
};

}  // namespace softlookup::cudnn

#endif  // SOFTLOOKUP_ATTENTION_CUDNN_TESTING_STAND_IN_RUNNER_H_
