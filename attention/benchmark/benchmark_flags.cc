#include "attention/benchmark/benchmark_flags.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/thread_pool.h"

namespace softlookup::kernels {

absl::StatusOr<std::vector<int>> ParseThreadCounts(const std::string& text) {
  std::vector<int> counts;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    int count;
    if (!absl::SimpleAtoi(part, &count) || !CheckThreads(count).ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("flag --threads has \"", part, "\"; allowed: 1 to ",
                       kMaxThreads, ", or several, as in 1,2"));
    }
    counts.push_back(count);
  }
  return counts;
}

absl::StatusOr<InstructionSet> ParseIsaFlag(const std::string& text) {
  absl::StatusOr<InstructionSet> set = ParseInstructionSet(text);
  if (!set.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("flag --", set.status().message()));
  }
  return set;
}

absl::Status CheckSecondsFlag(double seconds) {
  if (seconds >= 0 && seconds <= 3600) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("flag --seconds is ", seconds, "; allowed: 0 to 3600"));
}

}  // namespace softlookup::kernels
