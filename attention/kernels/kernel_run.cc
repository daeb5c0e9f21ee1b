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

}  // namespace softlookup::kernels
