// cuDNN's results against the float64 reference, for one drawn problem.
//
//   CheckParity(drawn, "parity", runner, pool, report);
//   // report.failures() counts what is out of its bound (parity.h), and
//   // report.json()["parity"] has a row more
#ifndef SOFTLOOKUP_ATTENTION_CUDNN_PARITY_CHECK_H_
#define SOFTLOOKUP_ATTENTION_CUDNN_PARITY_CHECK_H_

#include <string>

#include "attention/cudnn/check_cases.h"
#include "attention/cudnn/check_report.h"
#include "attention/cudnn/cudnn_attention.h"
#include "base/thread_pool.h"

namespace softlookup::cudnn {

// Runs forward and backward, checks every result against its bound and, where
// that has a meaning, that none is nearer than rounding allows; prints a line
// and adds a row to this section of the report. What cannot be run is a failed
// check. The float32 kernels, which give one more opinion, run on the pool.
void CheckParity(const CheckCase& drawn, const std::string& section,
                 CudnnRunner& runner, ThreadPool& pool, CheckReport& report);

// Whether the deterministic backward pass gives the same bits three times.
void CheckRepeats(const CheckCase& drawn, CudnnRunner& runner,
                  CheckReport& report);

}  // namespace softlookup::cudnn

#endif  // SOFTLOOKUP_ATTENTION_CUDNN_PARITY_CHECK_H_
