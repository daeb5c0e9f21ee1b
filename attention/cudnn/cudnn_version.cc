#include "attention/cudnn/cudnn_version.h"

#include <dlfcn.h>

#include "absl/status/status.h"
#include "attention/cudnn/cudnn_library.h"
#include "base/status.h"

namespace cudnn_frontend {
extern void* cudnn_dlhandle;  // cudnn_library.cc
}  // namespace cudnn_frontend

namespace softlookup::cudnn {

absl::StatusOr<size_t> LoadedCudnnVersion() {
  SOFTLOOKUP_RETURN_IF_ERROR(LoadCudnn());
  const auto version = reinterpret_cast<size_t (*)()>(
      ::dlsym(cudnn_frontend::cudnn_dlhandle, "cudnnGetVersion"));
  if (version == nullptr) {
    return absl::InternalError("cuDNN has no cudnnGetVersion");
  }
  return version();
}

}  // namespace softlookup::cudnn
