// How a kernel runs: on which instructions and threads. Its result does not
// depend on either (determinism.md).
//
//   ThreadPool pool(2);
//   KernelOptions run = {.pool = &pool};
#ifndef SOFTLOOKUP_ATTENTION_KERNELS_KERNEL_OPTIONS_H_
#define SOFTLOOKUP_ATTENTION_KERNELS_KERNEL_OPTIONS_H_

#include <cstdint>
#include <functional>

#include "attention/kernels/instruction_set.h"
#include "base/thread_pool.h"

namespace softlookup::kernels {

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
