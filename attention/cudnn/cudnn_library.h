// cuDNN's shared library, opened when it is first needed.
//
//   SOFTLOOKUP_RETURN_IF_ERROR(LoadCudnn());   // once; later calls are free
//
// A program that can use a GPU must start where there is none: nothing links
// against cuDNN or the driver. cuDNN itself opens `libcuda.so.1` when it plans
// or runs; the driver that is open already, if any, is the one it gets.
#ifndef SOFTLOOKUP_ATTENTION_CUDNN_CUDNN_LIBRARY_H_
#define SOFTLOOKUP_ATTENTION_CUDNN_CUDNN_LIBRARY_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace softlookup::cudnn {

// As cudnnGetVersion() counts: major * 10000 + minor * 100 + patch.
inline constexpr size_t kMinCudnnVersion = 91900;
inline constexpr size_t kCudnnVersionEnd = 100000;

// "9.19.0".
std::string CudnnVersionName(size_t version);

// FailedPrecondition, with the version and what is needed, for one outside
// [kMinCudnnVersion, kCudnnVersionEnd): the limits and workarounds of this
// folder were established with 9.19.
absl::Status CheckCudnnVersion(size_t version);

// Opens the library: the one that Bazel ships beside the program, else
// libcudnn.so.9 wherever the system's loader finds it (LD_LIBRARY_PATH); and
// cuBLAS, without which cuDNN 9.19 ends the process when it looks for a plan.
// FailedPrecondition when one is missing or cuDNN's version is wrong. Threads
// may call it at the same time; an error is given again to every caller.
absl::Status LoadCudnn();

// The version that LoadCudnn opened, as cudnnGetVersion() counts; 0 before.
size_t LoadedCudnnVersion();

// The first of the paths that opens, checked as above; LoadCudnn without its
// memory. `handle` gets what dlopen gave.
absl::Status OpenCudnn(const std::vector<std::string>& paths, void** handle);

// Opens libcublasLt.so.MAJOR, in the first of the folders ("a/b/") that has it
// or where the system's loader finds it, and leaves it open: cuDNN, which asks
// for it by this name, is given what is open already.
absl::Status OpenCublasLt(const std::vector<std::string>& folders,
                          size_t cuda_major);

}  // namespace softlookup::cudnn

#endif  // SOFTLOOKUP_ATTENTION_CUDNN_CUDNN_LIBRARY_H_
