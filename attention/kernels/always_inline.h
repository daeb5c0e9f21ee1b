// SOFTLOOKUP_INLINE: a function that must not exist on its own; and the integer
// helpers that every kernel may use, whatever it is compiled for.
//
// Kernels are compiled several times, each time for another instruction set.
// A shared inline function that the compiler chose not to inline would be
// merged by the linker into one copy, possibly with instructions that the
// processor lacks; functions that are always inlined cannot be merged.
#ifndef SOFTLOOKUP_ATTENTION_KERNELS_ALWAYS_INLINE_H_
#define SOFTLOOKUP_ATTENTION_KERNELS_ALWAYS_INLINE_H_

#include <cstdint>

#define SOFTLOOKUP_INLINE inline __attribute__((always_inline))

namespace softlookup::kernels {

SOFTLOOKUP_INLINE int64_t Smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}
SOFTLOOKUP_INLINE int64_t Larger(int64_t a, int64_t b) { return a > b ? a : b; }

// a / b and a to a multiple of b, rounded up; a >= 0, b >= 1.
SOFTLOOKUP_INLINE int64_t CeilDivide(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}
SOFTLOOKUP_INLINE int64_t RoundUp(int64_t a, int64_t b) {
  return CeilDivide(a, b) * b;
}

}  // namespace softlookup::kernels

#endif  // SOFTLOOKUP_ATTENTION_KERNELS_ALWAYS_INLINE_H_
