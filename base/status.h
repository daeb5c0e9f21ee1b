// Helpers around absl::Status: early return, and the exit code of a program.
//
//   absl::StatusOr<Model> Load(const std::string& path) {
//     SOFTLOOKUP_ASSIGN_OR_RETURN(std::string bytes, ReadFile(path));
//     SOFTLOOKUP_RETURN_IF_ERROR(CheckHeader(bytes));
//     ...
//   }
//
// Convention: an InvalidArgument message names the argument, what was given
// and what is allowed, for example
//   "key_lengths[1] is 9; allowed: 0 to Tk = 7".
#ifndef SOFTLOOKUP_BASE_STATUS_H_
#define SOFTLOOKUP_BASE_STATUS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace softlookup {

// The exit code of a program that ends with `status`: 0 for OK, 2 for bad
// usage or bad input (the caller can mend it: InvalidArgument, NotFound,
// OutOfRange, FailedPrecondition, AlreadyExists, PermissionDenied,
// Unimplemented), 1 for a run that failed.
int ExitCode(const absl::Status& status);

}  // namespace softlookup

#define SOFTLOOKUP_RETURN_IF_ERROR(expression)         \
  do {                                                 \
    if (absl::Status softlookup_status = (expression); \
        !softlookup_status.ok()) {                     \
      return softlookup_status;                        \
    }                                                  \
  } while (false)

#define SOFTLOOKUP_ASSIGN_OR_RETURN(declaration, expression)                 \
  SOFTLOOKUP_ASSIGN_OR_RETURN_IMPL_(                                         \
      SOFTLOOKUP_CONCATENATE_(softlookup_status_or_, __LINE__), declaration, \
      expression)

#define SOFTLOOKUP_ASSIGN_OR_RETURN_IMPL_(holder, declaration, expression) \
  auto holder = (expression);                                              \
  if (!holder.ok()) return std::move(holder).status();                     \
  declaration = std::move(holder).value()

#define SOFTLOOKUP_CONCATENATE_(a, b) SOFTLOOKUP_CONCATENATE_IMPL_(a, b)
#define SOFTLOOKUP_CONCATENATE_IMPL_(a, b) a##b

#endif  // SOFTLOOKUP_BASE_STATUS_H_
