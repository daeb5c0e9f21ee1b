// What the public functions of this folder share to run kernels: the table of
// an instruction set, the loop over tasks, and scratch memory.
#ifndef SOFTLOOKUP_ATTENTION_KERNELS_KERNEL_RUN_H_
#define SOFTLOOKUP_ATTENTION_KERNELS_KERNEL_RUN_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "attention/kernels/instruction_set.h"
#include "attention/kernels/kernel_options.h"
#include "attention/kernels/kernel_table.h"

namespace softlookup::kernels {

// The kernels of an instruction set that the processor has.
const KernelTable& KernelsFor(InstructionSet set);

// Calls body(task) for every task in [0, count), on the threads of `run`.
void ParallelFor(const KernelOptions& run, int64_t count,
                 const std::function<void(int64_t)>& body);

// One scratch per thread, kept for the next call.
template <typename Scratch>
Scratch& ThreadScratch() {
  static thread_local const std::unique_ptr<Scratch> scratch(new Scratch);
  return *scratch;
}

}  // namespace softlookup::kernels

#endif  // SOFTLOOKUP_ATTENTION_KERNELS_KERNEL_RUN_H_
