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
  return static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES)) *
         ::sysconf(_SC_PAGESIZE);
}

int64_t AddressSpaceLimit() {
  rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
  ::getrlimit(RLIMIT_AS, &limit);
  return static_cast<int64_t>(
      std::min(limit.rlim_cur, static_cast<rlim_t>(kNoLimit)));
}

}  // namespace

int64_t ControlGroupLimit(const std::string& folder) {
  int64_t limit = kNoLimit;
  for (const char* file : {"/memory.max", "/memory/memory.limit_in_bytes"}) {
    int64_t bytes;
    if (std::ifstream(folder + file) >> bytes) limit = std::min(limit, bytes);
  }
  return limit;
}

int64_t UsableMemory() {
  return std::min({PhysicalMemory(), AddressSpaceLimit(),
                   ControlGroupLimit("/sys/fs/cgroup")});
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
