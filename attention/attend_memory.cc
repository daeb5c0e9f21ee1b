#include "attention/attend_memory.h"

#include <initializer_list>
#include <limits>

namespace softlookup {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

// Sums and products of numbers that are not negative, kMax when they overflow.
int64_t Add(std::initializer_list<int64_t> terms) {
  int64_t sum = 0;
  for (const int64_t term : terms) {
    if (__builtin_add_overflow(sum, term, &sum)) return kMax;
  }
  return sum;
}

int64_t Multiply(std::initializer_list<int64_t> factors) {
  int64_t product = 1;
  for (const int64_t factor : factors) {
    if (__builtin_mul_overflow(product, factor, &product)) return kMax;
  }
  return product;
}

}  // namespace

int64_t AttendBytes(const AttentionSizes& sizes, const AttendMemory& memory) {
  const int64_t rows =
      Multiply({sizes.batch, sizes.query_heads, sizes.queries});
  const int64_t query = Multiply({rows, sizes.width});
  const int64_t output = Multiply({rows, sizes.value_width});
  const int64_t key_rows = Multiply({sizes.batch, sizes.key_heads, sizes.keys});
  const int64_t key = Multiply({key_rows, sizes.width});
  const int64_t value = Multiply({key_rows, sizes.value_width});
  const int64_t inputs = Add({query, key, value, memory.bias_elements});
  int64_t elements = Add({inputs, output, rows});  // with the log-sum-exp
  if (memory.weights) elements = Add({elements, Multiply({rows, sizes.keys})});
  // The output's gradient, and a gradient for each input.
  if (memory.backward) elements = Add({elements, output, inputs});
  return Add(
      {memory.file_bytes, memory.mask_elements,
       Multiply({elements, memory.element_bytes}),
       Multiply({sizes.queries, sizes.keys, memory.scratch_bytes_per_score})});
}

}  // namespace softlookup
