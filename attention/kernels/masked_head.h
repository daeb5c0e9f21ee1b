// One head of one batch entry, as the kernels see it: pointers, strides, and
// which keys a query sees, by pair, by row and by lane group.
//
// Plain data, so that translation units compiled for different instruction
// sets can share it. Rows are contiguous (the last stride is 1).
#ifndef SOFTLOOKUP_ATTENTION_KERNELS_MASKED_HEAD_H_
#define SOFTLOOKUP_ATTENTION_KERNELS_MASKED_HEAD_H_

#include <cstdint>

#include "attention/kernels/always_inline.h"
#include "attention/kernels/exp2.h"

namespace softlookup::kernels {

// Query rows per tile, the lanes of every kernel: 3 vectors of 16 or 6 of 8.
// This and the next two belong to the definition of the result's bits: they
// decide where long sums are cut.
inline constexpr int kQueryTile = 48;
// Lanes that are worked on or left out together.
inline constexpr int kLaneGroup = 16;
// Keys per tile; a row's running maximum is renewed once per tile.
inline constexpr int kKeyTile = 64;
// The largest head width, D or Dv.
inline constexpr int kMaxWidth = 256;

// Scores are kept times log2(e), which saves a product per pair, unless there
// is a bias: times log2(e) one near the lowest float, as some masks are
// written, would overflow.
struct HeadProblem {
  const float* query;  // [Tq, D]
  const float* key;    // [Tk, D]
  const float* value;  // [Tk, Dv]
  int64_t query_stride;
  int64_t key_stride;
  int64_t value_stride;
  int64_t queries;
  int64_t width;
  int64_t value_width;
  float scale;

  // Key j is visible to query i when key_begin <= j < key_end, j <= i +
  // causal_offset (if causal), allowed[i, j] != 0 (if given) and bias[i, j]
  // != -inf (if given).
  int64_t key_begin;
  int64_t key_end;
  bool causal;
  int64_t causal_offset;
  const uint8_t* allowed;
  int64_t allowed_row_stride;
  int64_t allowed_column_stride;
  const float* bias;
  int64_t bias_row_stride;
  int64_t bias_column_stride;
};

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

#endif  // SOFTLOOKUP_ATTENTION_KERNELS_MASKED_HEAD_H_
