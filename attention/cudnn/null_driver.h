// The driver library that drives nothing (null_driver.py), for tests.
//
//   int main() {
//     UseNullDriver();   // before cuDNN plans anything
//   }
#ifndef SOFTLOOKUP_ATTENTION_CUDNN_NULL_DRIVER_H_
#define SOFTLOOKUP_ATTENTION_CUDNN_NULL_DRIVER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace softlookup::cudnn {

// Its path, .../libcuda.so.1.
absl::StatusOr<std::string> NullDriverPath();

// Opens it for the rest of the process: whatever opens libcuda.so.1 from then
// on gets it.
absl::Status UseNullDriver();

}  // namespace softlookup::cudnn

#endif  // SOFTLOOKUP_ATTENTION_CUDNN_NULL_DRIVER_H_
