// The floating-point operations of a training step, counted from the shapes.
//
//   const StepOperations count = CountStepOperations(config, 32, 64);
//   const double share = count.forward / seconds / peak;
#ifndef SOFTLOOKUP_MODEL_STEP_OPERATIONS_H_
#define SOFTLOOKUP_MODEL_STEP_OPERATIONS_H_

#include <cstdint>

#include "model/config.h"

namespace softlookup {

// Of the matrix products alone, a multiply-add as two.
struct StepOperations {
  double forward = 0;
  // Each weight matrix twice as often as forward, for the gradients of its two
  // factors; attention five products instead of two, with the weights computed
  // again.
  double backward = 0;
};

// Of `batch` sequences of `positions` tokens; under the causal mask a query
// and a key count where the key is visible.
StepOperations CountStepOperations(const ModelConfig& config, int64_t batch,
                                   int64_t positions);

}  // namespace softlookup

#endif  // SOFTLOOKUP_MODEL_STEP_OPERATIONS_H_
