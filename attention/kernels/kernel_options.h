// How a kernel runs: on which instructions and threads. Its result does not
// depend on either (determinism.md).
//
//   ThreadPool pool(2);
//   KernelOptions run = {.pool = &pool};
#ifndef SOFTLOOKUP_ATTENTION_KERNELS_KERNEL_OPTIONS_H_
#define SOFTLOOKUP_ATTENTION_KERNELS_KERNEL_OPTIONS_H_

#include "attention/kernels/instruction_set.h"
#include "base/thread_pool.h"

namespace softlookup::kernels {

struct KernelOptions {
  // One that the processor has: SupportedInstructionSets.
  InstructionSet instruction_set = BestInstructionSet();
  ThreadPool* pool = nullptr;  // null: the calling thread alone

  int threads() const { return pool == nullptr ? 1 : pool->threads(); }
};

}  // namespace softlookup::kernels

#endif  // SOFTLOOKUP_ATTENTION_KERNELS_KERNEL_OPTIONS_H_
