// What the benchmark programs' flags have in common.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(const std::vector<int> counts,
//                               ParseThreadCounts("1,2"));
#ifndef SOFTLOOKUP_ATTENTION_BENCHMARK_BENCHMARK_FLAGS_H_
#define SOFTLOOKUP_ATTENTION_BENCHMARK_BENCHMARK_FLAGS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "attention/kernels/kernel_options.h"

namespace softlookup::kernels {

// --threads: a count, or several with commas between. InvalidArgument names
// what is allowed.
absl::StatusOr<std::vector<int>> ParseThreadCounts(const std::string& text);

// --isa. InvalidArgument, with the flag's name, as ParseInstructionSet.
absl::StatusOr<InstructionSet> ParseIsaFlag(const std::string& text);

// --filter: the cases whose `name` contains the text. InvalidArgument, saying
// what a case is called and what to try, where there is none.
template <typename Case>
absl::StatusOr<std::vector<Case>> SelectCases(std::vector<Case> cases,
                                              const std::string& filter,
                                              absl::string_view called,
                                              absl::string_view to_try) {
  std::erase_if(cases, [&](const Case& one) {
    return !absl::StrContains(one.name, filter);
  });
  if (cases.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("flag --filter is \"", filter, "\", which is in no ",
                     called, "'s name; try ", to_try));
  }
  return cases;
}

// --seconds: how long to measure. InvalidArgument unless 0 to 3600.
absl::Status CheckSecondsFlag(double seconds);

}  // namespace softlookup::kernels

#endif  // SOFTLOOKUP_ATTENTION_BENCHMARK_BENCHMARK_FLAGS_H_
