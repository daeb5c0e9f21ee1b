// Checks for programmer errors.
//
// A failed check prints file, line, the condition and a message, then aborts.
// Bad input is never a programmer error: it gets an absl::Status (see
// base/status.h).
//
//   SOFTLOOKUP_CHECK(rank == 4, "attention tensors have rank 4");
#ifndef SOFTLOOKUP_BASE_CHECK_H_
#define SOFTLOOKUP_BASE_CHECK_H_

#include <cstdio>
#include <cstdlib>

namespace softlookup::internal {

[[noreturn]] inline void CheckFailed(const char* file, int line,
                                     const char* condition,
                                     const char* message) {
  std::fprintf(stderr, "%s:%d: check failed: %s (%s)\n", file, line, condition,
               message);
  std::abort();
}

}  // namespace softlookup::internal

// Unlike assert, stays in optimised builds.
#define SOFTLOOKUP_CHECK(condition, message)                             \
  ((condition) ? static_cast<void>(0)                                    \
               : ::softlookup::internal::CheckFailed(__FILE__, __LINE__, \
                                                     #condition, message))

#endif  // SOFTLOOKUP_BASE_CHECK_H_
