// The version of cuDNN that this program runs with.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(const size_t version, LoadedCudnnVersion());
//   std::printf("cuDNN %s\n", CudnnVersionName(version).c_str());
#ifndef SOFTLOOKUP_ATTENTION_CUDNN_CUDNN_VERSION_H_
#define SOFTLOOKUP_ATTENTION_CUDNN_CUDNN_VERSION_H_

#include <cstddef>

#include "absl/status/statusor.h"

namespace softlookup::cudnn {

// As cudnnGetVersion() counts; the errors of LoadCudnn.
absl::StatusOr<size_t> LoadedCudnnVersion();

}  // namespace softlookup::cudnn

#endif  // SOFTLOOKUP_ATTENTION_CUDNN_CUDNN_VERSION_H_
