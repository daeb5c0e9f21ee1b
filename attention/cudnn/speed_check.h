// How fast attention is on this machine's GPU, beside PyTorch's and beside a
// matrix product.
//
//   CheckSpeed({.runner = runner.get(), .peer = peer.get(), ...}, 16384);
//
// Speed fails no check: a target is met or not met.
#ifndef SOFTLOOKUP_ATTENTION_CUDNN_SPEED_CHECK_H_
#define SOFTLOOKUP_ATTENTION_CUDNN_SPEED_CHECK_H_

#include <cstdint>
#include <string>

#include "attention/cudnn/check_report.h"
#include "attention/cudnn/gpu_runner.h"
#include "attention/cudnn/pytorch_peer.h"
#include "attention/cudnn/time_budget.h"
#include "base/thread_pool.h"

namespace softlookup::cudnn {

struct SpeedCheck {
  GpuRunner* runner = nullptr;
  PytorchPeer* peer = nullptr;  // null: nothing to compare with, because of
  std::string no_peer;          // this
  ThreadPool* pool = nullptr;   // builds plans
  const TimeBudget* budget = nullptr;
  CheckReport* report = nullptr;
};

// Measures the matrix product, what a call costs the host, and SpeedCases up to
// the longest: the main ones in any case, the others while there is time.
// Prints lines and writes the report after every part. Errors of ours are
// failed checks; what PyTorch lacks is said once.
void CheckSpeed(const SpeedCheck& check, int64_t longest);

}  // namespace softlookup::cudnn

#endif  // SOFTLOOKUP_ATTENTION_CUDNN_SPEED_CHECK_H_
