// Integer helpers that every kernel may use, whatever it is compiled for.
#ifndef SOFTLOOKUP_ATTENTION_KERNELS_INTEGERS_H_
#define SOFTLOOKUP_ATTENTION_KERNELS_INTEGERS_H_

#include <cstdint>

#include "attention/kernels/always_inline.h"

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

#endif  // SOFTLOOKUP_ATTENTION_KERNELS_INTEGERS_H_
