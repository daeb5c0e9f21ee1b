// What the benchmark programs' flags have in common.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(const std::vector<int> counts,
//                               ParseThreadCounts("1,2"));
#ifndef SOFTLOOKUP_ATTENTION_KERNELS_BENCHMARK_FLAGS_H_
#define SOFTLOOKUP_ATTENTION_KERNELS_BENCHMARK_FLAGS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "attention/kernels/instruction_set.h"

namespace softlookup::kernels {

// --threads: a count, or several with commas between. InvalidArgument names
// what is allowed.
absl::StatusOr<std::vector<int>> ParseThreadCounts(const std::string& text);

// --isa. InvalidArgument, with the flag's name, as ParseInstructionSet.
absl::StatusOr<InstructionSet> ParseIsaFlag(const std::string& text);

// --seconds: how long to measure. InvalidArgument unless 0 to 3600.
absl::Status CheckSecondsFlag(double seconds);

}  // namespace softlookup::kernels

#endif  // SOFTLOOKUP_ATTENTION_KERNELS_BENCHMARK_FLAGS_H_
