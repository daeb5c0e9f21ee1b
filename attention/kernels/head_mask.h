// Visibility of keys inside the kernels: per pair, per row, per tile.
#ifndef SOFTLOOKUP_ATTENTION_KERNELS_HEAD_MASK_H_
#define SOFTLOOKUP_ATTENTION_KERNELS_HEAD_MASK_H_

#include <cstdint>

#include "attention/kernels/always_inline.h"
#include "attention/kernels/exp2.h"
#include "attention/kernels/head_problem.h"
#include "attention/kernels/integers.h"

namespace softlookup::kernels {

// The end of the keys that query i may see by length and causality.
SOFTLOOKUP_INLINE int64_t KeyEnd(const HeadProblem& head, int64_t i) {
  if (!head.causal) return head.key_end;
  return Larger(Smaller(head.key_end, i + head.causal_offset + 1),
                head.key_begin);
}

// Of the keys [j, j + n), how many the lane group of the queries from `query`
// on sees any of by length and causality: always the first ones.
SOFTLOOKUP_INLINE int GroupKeys(const HeadProblem& head, int64_t query,
                                int64_t j, int n) {
  const int64_t last = Smaller(query + kLaneGroup, head.queries) - 1;
  return static_cast<int>(Larger(Smaller(KeyEnd(head, last) - j, n), 0));
}

// What queries are multiplied by: log2(e) included where exp2 will be of a
// score as it is (HeadProblem).
SOFTLOOKUP_INLINE float QueryScale(const HeadProblem& head) {
  return head.bias == nullptr ? head.scale * kLog2E : head.scale;
}

// Whether query i sees key j.
SOFTLOOKUP_INLINE bool Visible(const HeadProblem& head, int64_t i, int64_t j) {
  if (j < head.key_begin || j >= KeyEnd(head, i)) return false;
  if (head.allowed != nullptr &&
      head.allowed[i * head.allowed_row_stride +
                   j * head.allowed_column_stride] == 0) {
    return false;
  }
  return head.bias == nullptr ||
         head.bias[i * head.bias_row_stride + j * head.bias_column_stride] !=
             -__builtin_inff();
}

// Whether query i sees any key.
SOFTLOOKUP_INLINE bool SeesAnyKey(const HeadProblem& head, int64_t i) {
  for (int64_t j = head.key_begin; j < KeyEnd(head, i); ++j) {
    if (Visible(head, i, j)) return true;
  }
  return false;
}

}  // namespace softlookup::kernels

#endif  // SOFTLOOKUP_ATTENTION_KERNELS_HEAD_MASK_H_
