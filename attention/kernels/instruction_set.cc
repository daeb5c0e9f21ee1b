#include "attention/kernels/instruction_set.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace softlookup::kernels {
namespace {

constexpr InstructionSet kAll[] = {
    InstructionSet::kPortable, InstructionSet::kAvx2, InstructionSet::kAvx512};

bool Supported(InstructionSet set) {
#if defined(__x86_64__)
  switch (set) {
    case InstructionSet::kPortable:
      return true;
    case InstructionSet::kAvx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case InstructionSet::kAvx512:
      return __builtin_cpu_supports("avx512f") &&
             __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl");
  }
  return false;
#else
  return set == InstructionSet::kPortable;
#endif
}

}  // namespace

std::string InstructionSetName(InstructionSet set) {
  switch (set) {
    case InstructionSet::kPortable:
      return "portable";
    case InstructionSet::kAvx2:
      return "avx2";
    case InstructionSet::kAvx512:
      return "avx512";
  }
  return "unknown";
}

std::vector<InstructionSet> SupportedInstructionSets() {
  std::vector<InstructionSet> supported;
  std::copy_if(std::begin(kAll), std::end(kAll), std::back_inserter(supported),
               Supported);
  return supported;
}

InstructionSet BestInstructionSet() {
  return SupportedInstructionSets().back();
}

absl::StatusOr<InstructionSet> ParseInstructionSet(absl::string_view text) {
  if (text == "auto") return BestInstructionSet();
  std::vector<std::string> names = {"auto"};
  for (const InstructionSet set : kAll) {
    names.push_back(InstructionSetName(set));
    if (text != names.back()) continue;
    if (Supported(set)) return set;
    return absl::FailedPreconditionError(
        absl::StrCat("isa is \"", text,
                     "\", which this processor lacks; allowed here: up to ",
                     InstructionSetName(BestInstructionSet())));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "isa is \"", text, "\"; allowed: ", absl::StrJoin(names, ", ")));
}

}  // namespace softlookup::kernels
