#include "attention/cudnn/cudnn_library.h"

#include <dlfcn.h>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/runfiles.h"
#include "base/status.h"

namespace cudnn_frontend {
// cudnn-frontend looks its functions up here (cudnn_frontend_shim.h, under
// NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING).
void* cudnn_dlhandle = nullptr;
}  // namespace cudnn_frontend

namespace softlookup::cudnn {
namespace {

constexpr const char* kSoname = "libcudnn.so.9";

size_t loaded_version = 0;

// The first of the paths that opens; null if none does.
void* OpenFirst(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) return library;
  }
  return nullptr;
}

absl::Status LoadOnce() {
  std::vector<std::string> paths;
  const absl::StatusOr<std::string> shipped =
      RunfilePath(absl::StrCat("../cuda/lib/", kSoname));
  if (shipped.ok()) paths.push_back(*shipped);
  paths.push_back(kSoname);
  void* library = nullptr;
  SOFTLOOKUP_RETURN_IF_ERROR(OpenCudnn(paths, &library));
  const auto cuda_version =
      reinterpret_cast<size_t (*)()>(::dlsym(library, "cudnnGetCudartVersion"));
  if (cuda_version == nullptr) {
    return absl::FailedPreconditionError("cuDNN has no cudnnGetCudartVersion");
  }
  const size_t major = cuda_version() / 1000;
  // Where cuDNN would look: beside itself, and where Python's wheels put it.
  std::vector<std::string> folders;
  Dl_info info;
  if (::dladdr(reinterpret_cast<void*>(cuda_version), &info) != 0) {
    const std::string path = info.dli_fname;
    const std::string folder = path.substr(0, path.rfind('/') + 1);
    folders = {folder, folder + "../../cublas/lib/",
               absl::StrCat(folder, "../../cu", major, "/lib/")};
  }
  SOFTLOOKUP_RETURN_IF_ERROR(OpenCublasLt(folders, major));
  cudnn_frontend::cudnn_dlhandle = library;
  loaded_version =
      reinterpret_cast<size_t (*)()>(::dlsym(library, "cudnnGetVersion"))();
  return absl::OkStatus();
}

}  // namespace

std::string CudnnVersionName(size_t version) {
  return absl::StrCat(version / 10000, ".", version / 100 % 100, ".",
                      version % 100);
}

absl::Status CheckCudnnVersion(size_t version) {
  if (version >= kMinCudnnVersion && version < kCudnnVersionEnd) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("cuDNN is ", CudnnVersionName(version),
                   "; needed: ", CudnnVersionName(kMinCudnnVersion),
                   " or later, below ", CudnnVersionName(kCudnnVersionEnd)));
}

absl::Status OpenCudnn(const std::vector<std::string>& paths, void** handle) {
  void* library = OpenFirst(paths);
  if (library == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("no cuDNN: ", absl::StrJoin(paths, " or "),
                     " cannot be opened; put its folder into LD_LIBRARY_PATH"));
  }
  const auto version =
      reinterpret_cast<size_t (*)()>(::dlsym(library, "cudnnGetVersion"));
  if (version == nullptr) {
    ::dlclose(library);
    return absl::FailedPreconditionError(absl::StrCat(
        absl::StrJoin(paths, " or "), " has no cudnnGetVersion: not cuDNN"));
  }
  absl::Status status = CheckCudnnVersion(version());
  if (!status.ok()) {
    ::dlclose(library);
    return status;
  }
  *handle = library;
  return absl::OkStatus();
}

absl::Status OpenCublasLt(const std::vector<std::string>& folders,
                          size_t cuda_major) {
  const std::string soname = absl::StrCat("libcublasLt.so.", cuda_major);
  std::vector<std::string> paths;
  for (const std::string& folder : folders) paths.push_back(folder + soname);
  paths.push_back(soname);
  if (OpenFirst(paths) != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("no cuBLAS, which cuDNN needs: ", soname,
                   " cannot be opened; put its folder into LD_LIBRARY_PATH"));
}

absl::Status LoadCudnn() {
  static const absl::Status& status = *new absl::Status(LoadOnce());
  return status;
}

size_t LoadedCudnnVersion() { return loaded_version; }

}  // namespace softlookup::cudnn
