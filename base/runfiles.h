// Where a program finds the data files that Bazel ships beside it.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(std::string path,
//                               RunfilePath("testdata/claims.json"));
#ifndef SOFTLOOKUP_BASE_RUNFILES_H_
#define SOFTLOOKUP_BASE_RUNFILES_H_

#include <string>

#include "absl/status/statusor.h"

namespace softlookup {

// The path of a `data` dependency, given relative to the workspace root.
// Works under `bazel run`, `bazel test` and for a binary started from
// bazel-bin. NotFound when the file does not lie where Bazel puts it.
absl::StatusOr<std::string> RunfilePath(const std::string& workspace_path);

}  // namespace softlookup

#endif  // SOFTLOOKUP_BASE_RUNFILES_H_
