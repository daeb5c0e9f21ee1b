// How much memory a run may take.
//
// A size that comes from input is checked before anything is allocated: the
// alternative is a process that the system kills without a word.
//
//   SOFTLOOKUP_RETURN_IF_ERROR(
//       CheckMemory("attention over 1000000 keys", bytes));
#ifndef SOFTLOOKUP_BASE_MEMORY_H_
#define SOFTLOOKUP_BASE_MEMORY_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace softlookup {

// The machine's memory in bytes, or less where a limit on the process's
// address space or on its control group says so.
int64_t UsableMemory();

// The limit of the process's control group in bytes, as a container sees it in
// `folder`: memory.max there in version 2 of the interface,
// memory/memory.limit_in_bytes in version 1. INT64_MAX where neither names a
// number ("max", or no such file).
int64_t ControlGroupLimit(const std::string& folder);

// InvalidArgument, with both numbers, if `bytes` is more than UsableMemory().
absl::Status CheckMemory(absl::string_view what, int64_t bytes);

}  // namespace softlookup

#endif  // SOFTLOOKUP_BASE_MEMORY_H_
