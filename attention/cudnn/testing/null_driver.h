// The driver library that drives nothing (null_driver.py), for tests.
//
//   int main() {
//     UseNullDriver();   // before cuDNN plans anything
//   }
#ifndef SOFTLOOKUP_ATTENTION_CUDNN_TESTING_NULL_DRIVER_H_
#define SOFTLOOKUP_ATTENTION_CUDNN_TESTING_NULL_DRIVER_H_

#include <dlfcn.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/runfiles.h"
#include "base/status.h"

namespace softlookup::cudnn {

// Its path, .../libcuda.so.1.
inline absl::StatusOr<std::string> NullDriverPath() {
  return RunfilePath("attention/cudnn/testing/null_driver/libcuda.so.1");
}

// Opens it for the rest of the process: whatever opens libcuda.so.1 from then
// on gets it.
inline absl::Status UseNullDriver() {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const std::string path, NullDriverPath());
  if (::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    return absl::InternalError(absl::StrCat(path, ": ", ::dlerror()));
  }
  return absl::OkStatus();
}

}  // namespace softlookup::cudnn

#endif  // SOFTLOOKUP_ATTENTION_CUDNN_TESTING_NULL_DRIVER_H_
