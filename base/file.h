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
#include "absl/types/span.h"

namespace softlookup {

// NotFound, PermissionDenied or InvalidArgument (a directory, or more bytes
// than this machine has memory), with the path and the system's reason. From
// what is no regular file, a pipe for instance, 256 MiB at most are taken.
absl::StatusOr<std::string> ReadFile(const std::string& path);

// Creates or replaces the file at `path`, or at the end of the symbolic links
// there; a device or a pipe is written to. A file that may not be written is
// not replaced either. NotFound or PermissionDenied when the directory does
// not take a file, ResourceExhausted on a full disk or beyond a limit on file
// sizes; each names the path.
absl::Status WriteFileAtomically(const std::string& path,
                                 absl::string_view content);

// The same for content in pieces, which are written one after the other.
absl::Status WriteFileAtomically(const std::string& path,
                                 absl::Span<const absl::string_view> pieces);

// Whether WriteFileAtomically could begin to write to `path` now, with its
// errors: for work that should not be done in vain. Changes nothing.
absl::Status CheckWritable(const std::string& path);

// Whether two paths lead to one regular file.
bool IsSameFile(const std::string& a, const std::string& b);

// Creates a directory and its parents; fine if it exists.
absl::Status MakeDirectories(const std::string& path);

// A relative path as the person who typed it means it: under `bazel run` the
// program's working directory is not the caller's, whose directory is in
// BUILD_WORKING_DIRECTORY. Absolute paths are returned as they are.
std::string ResolveUserPath(const std::string& path);

}  // namespace softlookup

#endif  // SOFTLOOKUP_BASE_FILE_H_
