// Whether a plan that was built for a description of a GPU, as on a machine
// without one, runs on the real one.
//
//   CheckSerializedPlan(*runner, report);
#ifndef SOFTLOOKUP_ATTENTION_CUDNN_PLAN_CHECK_H_
#define SOFTLOOKUP_ATTENTION_CUDNN_PLAN_CHECK_H_

#include "attention/cudnn/check_report.h"
#include "attention/cudnn/gpu_runner.h"

namespace softlookup::cudnn {

// Builds a plan for the described H200, serializes and loads it and compares
// what it computes, to the bit, with the plan that was built for this GPU. It
// cannot be expected to load on a card that is no H200; there nothing is
// checked.
void CheckSerializedPlan(GpuRunner& runner, CheckReport& report);

}  // namespace softlookup::cudnn

#endif  // SOFTLOOKUP_ATTENTION_CUDNN_PLAN_CHECK_H_
