#include "attention/attend/attend_memory.h"

#include "base/saturating.h"

namespace softlookup {

int64_t AttendBytes(const AttentionSizes& sizes, const AttendMemory& memory) {
  const int64_t rows =
      SaturatingProduct({sizes.batch, sizes.query_heads, sizes.queries});
  const int64_t query = SaturatingProduct({rows, sizes.width});
  const int64_t output = SaturatingProduct({rows, sizes.value_width});
  const int64_t key_rows =
      SaturatingProduct({sizes.batch, sizes.key_heads, sizes.keys});
  const int64_t key = SaturatingProduct({key_rows, sizes.width});
  const int64_t value = SaturatingProduct({key_rows, sizes.value_width});
  const int64_t inputs =
      SaturatingSum({query, key, value, memory.bias_elements});
  int64_t elements =
      SaturatingSum({inputs, output, rows});  // with the log-sum-exp
  if (memory.weights)
    elements = SaturatingSum({elements, SaturatingProduct({rows, sizes.keys})});
  // The output's gradient, and a gradient for each input.
  if (memory.backward) elements = SaturatingSum({elements, output, inputs});
  return SaturatingSum({memory.file_bytes, memory.mask_elements,
                        SaturatingProduct({elements, memory.element_bytes}),
                        memory.scratch_bytes});
}

}  // namespace softlookup
