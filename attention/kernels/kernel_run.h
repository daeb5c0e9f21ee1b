// What the public functions of this folder share to run kernels: the table of
// an instruction set, and scratch memory.
#ifndef SOFTLOOKUP_ATTENTION_KERNELS_KERNEL_RUN_H_
#define SOFTLOOKUP_ATTENTION_KERNELS_KERNEL_RUN_H_

#include <cstdint>
#include <memory>

#include "attention/kernels/kernel_options.h"
#include "attention/kernels/kernel_table.h"

namespace softlookup::kernels {

// The kernels of an instruction set that the processor has.
const KernelTable& KernelsFor(InstructionSet set);

// One scratch per thread, kept for the next call.
template <typename Scratch>
Scratch& ThreadScratch() {
  static thread_local const std::unique_ptr<Scratch> scratch(new Scratch);
  return *scratch;
}

// `count` floats, not set to anything, that are this thread's until it asks
// again: memory that is new in every call would cost a page fault per page. Up
// to 64 MiB are kept for good, more until the next call.
float* ThreadFloats(int64_t count);

}  // namespace softlookup::kernels

#endif  // SOFTLOOKUP_ATTENTION_KERNELS_KERNEL_RUN_H_
