// Whole files in, whole files out.
//
// Writing goes through a temporary file beside the target, which is flushed
// and renamed, so that a reader sees the old content or the new, never a part
// of it; on any error the temporary file is removed and the target is as it
// was.
//
//   SOFTLOOKUP_RETURN_IF_ERROR(WriteFileAtomically("out.json", text));
#ifndef SOFTLOOKUP_BASE_FILE_H_
#define SOFTLOOKUP_BASE_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace softlookup {

// NotFound, PermissionDenied or InvalidArgument (a directory), with the path
// and the system's reason.
absl::StatusOr<std::string> ReadFile(const std::string& path);

// Creates or replaces `path`. NotFound or PermissionDenied when the directory
// does not take a file, ResourceExhausted on a full disk; each names the path.
absl::Status WriteFileAtomically(const std::string& path,
                                 absl::string_view content);

// Creates a directory and its parents; fine if it exists.
absl::Status MakeDirectories(const std::string& path);

// A relative path as the person who typed it means it: under `bazel run` the
// program's working directory is not the caller's, whose directory is in
// BUILD_WORKING_DIRECTORY. Absolute paths are returned as they are.
std::string ResolveUserPath(const std::string& path);

}  // namespace softlookup

#endif  // SOFTLOOKUP_BASE_FILE_H_
