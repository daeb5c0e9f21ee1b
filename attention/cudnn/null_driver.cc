#include "attention/cudnn/null_driver.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"
#include "base/runfiles.h"
#include "base/status.h"

namespace softlookup::cudnn {

absl::StatusOr<std::string> NullDriverPath() {
  return RunfilePath("attention/cudnn/null_driver/libcuda.so.1");
}

absl::Status UseNullDriver() {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const std::string path, NullDriverPath());
  if (::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    return absl::InternalError(absl::StrCat(path, ": ", ::dlerror()));
  }
  return absl::OkStatus();
}

}  // namespace softlookup::cudnn
