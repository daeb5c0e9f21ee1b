#include "base/memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "absl/strings/str_cat.h"

namespace softlookup {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

int64_t PhysicalMemory() {
  const int64_t pages = ::sysconf(_SC_PHYS_PAGES);
  const int64_t page_size = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && page_size > 0 ? pages * page_size : kNoLimit;
}

int64_t AddressSpaceLimit() {
  rlimit limit;
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return kNoLimit;
  }
  return static_cast<int64_t>(
      std::min(limit.rlim_cur, static_cast<rlim_t>(kNoLimit)));
}

// The limit of the control group as a container sees it, in version 2 and 1
// of the interface. No number there ("max", or no file) means no limit.
int64_t ControlGroupLimit() {
  int64_t limit = kNoLimit;
  for (const char* path : {"/sys/fs/cgroup/memory.max",
                           "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    int64_t bytes;
    if (std::ifstream(path) >> bytes) limit = std::min(limit, bytes);
  }
  return limit;
}

}  // namespace

int64_t UsableMemory() {
  return std::min({PhysicalMemory(), AddressSpaceLimit(), ControlGroupLimit()});
}

absl::Status CheckMemory(absl::string_view what, int64_t bytes) {
  const int64_t usable = UsableMemory();
  if (bytes <= usable) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " needs ", bytes,
                                                 " bytes of memory; usable "
                                                 "here: ",
                                                 usable));
}

}  // namespace softlookup
