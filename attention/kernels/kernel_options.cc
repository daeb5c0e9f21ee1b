#include "attention/kernels/kernel_options.h"

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/named_values.h"
#include "base/status.h"

namespace softlookup::kernels {
namespace {

// Slowest first; nothing: the best.
const NamedValues<std::optional<InstructionSet>>& InstructionSets() {
  static const auto& sets = *new NamedValues<std::optional<InstructionSet>>{
      {std::nullopt, "auto"},
      {InstructionSet::kPortable, "portable"},
      {InstructionSet::kAvx2, "avx2"},
      {InstructionSet::kAvx512, "avx512"}};
  return sets;
}

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
  return NameOf(InstructionSets(), std::optional(set));
}

std::vector<InstructionSet> SupportedInstructionSets() {
  std::vector<InstructionSet> supported;
  for (const auto& [set, name] : InstructionSets()) {
    if (set.has_value() && Supported(*set)) supported.push_back(*set);
  }
  return supported;
}

InstructionSet BestInstructionSet() {
  return SupportedInstructionSets().back();
}

absl::StatusOr<InstructionSet> ParseInstructionSet(const std::string& text) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const std::optional<InstructionSet> set,
                              ParseName(InstructionSets(), "isa", text));
  if (!set.has_value()) return BestInstructionSet();
  if (Supported(*set)) return *set;
  return absl::FailedPreconditionError(absl::StrCat(
      "isa is \"", text, "\", which this processor lacks; allowed here: up to ",
      InstructionSetName(BestInstructionSet())));
}

}  // namespace softlookup::kernels
