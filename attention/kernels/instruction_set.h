// The instruction sets that the kernels are compiled for, chosen at run time.
//
//   InstructionSet best = BestInstructionSet();
//   SOFTLOOKUP_ASSIGN_OR_RETURN(InstructionSet set,
//                               ParseInstructionSet("avx2"));
//
// Every set gives the same bits (determinism.md): the choice is about speed.
#ifndef SOFTLOOKUP_ATTENTION_KERNELS_INSTRUCTION_SET_H_
#define SOFTLOOKUP_ATTENTION_KERNELS_INSTRUCTION_SET_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace softlookup::kernels {

enum class InstructionSet {
  kPortable,  // plain C++ with std::fma: correct rather than fast
  kAvx2,      // AVX2 and FMA
  kAvx512,    // AVX-512 F, DQ and VL
};

// "portable", "avx2", "avx512".
std::string InstructionSetName(InstructionSet set);

// What this processor can run, slowest first.
std::vector<InstructionSet> SupportedInstructionSets();

// The fastest of them.
InstructionSet BestInstructionSet();

// The set of that name, or the best for "auto". InvalidArgument for another
// name, FailedPrecondition for a set that this processor lacks.
absl::StatusOr<InstructionSet> ParseInstructionSet(absl::string_view text);

}  // namespace softlookup::kernels

#endif  // SOFTLOOKUP_ATTENTION_KERNELS_INSTRUCTION_SET_H_
