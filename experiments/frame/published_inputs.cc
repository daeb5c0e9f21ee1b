#include "experiments/frame/published_inputs.h"

#include <utility>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/runfiles.h"
#include "base/status.h"

ABSL_FLAG(std::vector<std::string>, inputs, {},
          "For the build: where the files are that the published run reads, "
          "with commas between.");

namespace softlookup {

absl::StatusOr<std::vector<std::string>> PublishedInputs(
    const std::vector<std::string>& runfiles) {
  std::vector<std::string> paths = absl::GetFlag(FLAGS_inputs);
  if (paths.empty()) {
    for (const std::string& runfile : runfiles) {
      SOFTLOOKUP_ASSIGN_OR_RETURN(std::string path, RunfilePath(runfile));
      paths.push_back(std::move(path));
    }
  }
  if (paths.size() != runfiles.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--inputs has ", paths.size(), " files; allowed: ", runfiles.size()));
  }
  return paths;
}

}  // namespace softlookup
