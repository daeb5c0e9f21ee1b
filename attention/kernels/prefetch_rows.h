// Rows of a matrix on their way into the caches.
#ifndef SOFTLOOKUP_ATTENTION_KERNELS_PREFETCH_ROWS_H_
#define SOFTLOOKUP_ATTENTION_KERNELS_PREFETCH_ROWS_H_

#include <cstdint>

#include "attention/kernels/always_inline.h"

namespace softlookup::kernels {

// Asks for rows that will be read soon.
SOFTLOOKUP_INLINE void PrefetchRows(const float* rows, int64_t stride,
                                    int64_t count, int64_t width) {
  constexpr int64_t kCacheLine = 16;
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t k = 0; k < width; k += kCacheLine) {
      __builtin_prefetch(rows + i * stride + k);
    }
  }
}

}  // namespace softlookup::kernels

#endif  // SOFTLOOKUP_ATTENTION_KERNELS_PREFETCH_ROWS_H_
