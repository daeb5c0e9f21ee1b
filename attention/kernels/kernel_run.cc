#include "attention/kernels/kernel_run.h"

namespace softlookup::kernels {

const KernelTable& KernelsFor(InstructionSet set) {
#if defined(__x86_64__)
  if (set == InstructionSet::kAvx512) return kAvx512Kernels;
  if (set == InstructionSet::kAvx2) return kAvx2Kernels;
#endif
  static_cast<void>(set);
  return kPortableKernels;
}

void ParallelFor(const KernelOptions& run, int64_t count,
                 const std::function<void(int64_t)>& body) {
  if (run.pool != nullptr) {
    run.pool->ParallelFor(count, body);
  } else {
    for (int64_t task = 0; task < count; ++task) body(task);
  }
}

}  // namespace softlookup::kernels
