#include "base/runfiles.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace softlookup {

absl::StatusOr<std::string> RunfilePath(const std::string& workspace_path) {
  std::vector<std::string> roots;
  for (const char* variable : {"TEST_SRCDIR", "RUNFILES_DIR"}) {
    if (const char* root = std::getenv(variable)) roots.push_back(root);
  }
  std::error_code error;
  const std::filesystem::path program =
      std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) roots.push_back(absl::StrCat(program.string(), ".runfiles"));
  for (const std::string& root : roots) {
    std::string path = absl::StrCat(root, "/softlookup/", workspace_path);
    if (std::filesystem::exists(path, error)) return path;
  }
  return absl::NotFoundError(absl::StrCat(
      workspace_path,
      " not found beside the program; start it with `bazel run`, or from "
      "bazel-bin"));
}

}  // namespace softlookup
