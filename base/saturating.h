// Sums and products of sizes, none negative, that stop at INT64_MAX instead of
// overflowing: how much memory a request of any size would take.
//
//   int64_t bytes = SaturatingProduct({rows, columns, 8});
#ifndef SOFTLOOKUP_BASE_SATURATING_H_
#define SOFTLOOKUP_BASE_SATURATING_H_

#include <cstdint>
#include <initializer_list>
#include <limits>

namespace softlookup {

inline int64_t SaturatingSum(std::initializer_list<int64_t> terms) {
  int64_t sum = 0;
  for (const int64_t term : terms) {
    if (__builtin_add_overflow(sum, term, &sum)) {
      return std::numeric_limits<int64_t>::max();
    }
  }
  return sum;
}

// 0 where any factor is 0.
inline int64_t SaturatingProduct(std::initializer_list<int64_t> factors) {
  int64_t product = 1;
  bool overflow = false;
  for (const int64_t factor : factors) {
    if (factor == 0) return 0;
    overflow = overflow || __builtin_mul_overflow(product, factor, &product);
  }
  return overflow ? std::numeric_limits<int64_t>::max() : product;
}

}  // namespace softlookup

#endif  // SOFTLOOKUP_BASE_SATURATING_H_
