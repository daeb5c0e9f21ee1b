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

namespace {

// 64 MiB. A problem that needs more takes so long that new memory costs it
// nothing.
constexpr int64_t kKeptFloats = int64_t{1} << 24;

}  // namespace

float* ThreadFloats(int64_t count) {
  static thread_local std::unique_ptr<float[]> floats;
  static thread_local int64_t size = 0;
  if (count > size || size > kKeptFloats) {
    floats.reset();
    size = 0;
    floats = std::make_unique_for_overwrite<float[]>(count);
    size = count;
  }
  return floats.get();
}

}  // namespace softlookup::kernels
