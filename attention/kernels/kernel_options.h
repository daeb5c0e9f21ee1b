// How a kernel runs: on which instructions, chosen at run time, and on which
// threads. Its result does not depend on either (determinism.md).
//
//   ThreadPool pool(2);
//   KernelOptions execution = {.pool = &pool};
//   SOFTLOOKUP_ASSIGN_OR_RETURN(execution.instruction_set,
//                               ParseInstructionSet("avx2"));
#ifndef SOFTLOOKUP_ATTENTION_KERNELS_KERNEL_OPTIONS_H_
#define SOFTLOOKUP_ATTENTION_KERNELS_KERNEL_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/thread_pool.h"

namespace softlookup::kernels {

// The instruction sets that the kernels are compiled for.
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
absl::StatusOr<InstructionSet> ParseInstructionSet(const std::string& text);

struct KernelOptions {
  // One that the processor has: SupportedInstructionSets.
  InstructionSet instruction_set = BestInstructionSet();
  ThreadPool* pool = nullptr;  // null: the calling thread alone

  int threads() const { return pool == nullptr ? 1 : pool->threads(); }

  // Calls body(task) for every task in [0, count); see ThreadPool.
  void ParallelFor(int64_t count, const std::function<void(int64_t)>& body,
                   TaskOrder order = TaskOrder::kNearby) const {
    if (pool != nullptr) {
      pool->ParallelFor(count, body, order);
    } else {
      for (int64_t task = 0; task < count; ++task) body(task);
    }
  }
};

}  // namespace softlookup::kernels

#endif  // SOFTLOOKUP_ATTENTION_KERNELS_KERNEL_OPTIONS_H_
