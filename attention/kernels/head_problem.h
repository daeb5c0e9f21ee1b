// One head of one batch entry, as the kernels see it: pointers and strides.
//
// Plain data, so that translation units compiled for different instruction
// sets can share it. Rows are contiguous (the last stride is 1).
#ifndef SOFTLOOKUP_ATTENTION_KERNELS_HEAD_PROBLEM_H_
#define SOFTLOOKUP_ATTENTION_KERNELS_HEAD_PROBLEM_H_

#include <cstdint>

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

}  // namespace softlookup::kernels

#endif  // SOFTLOOKUP_ATTENTION_KERNELS_HEAD_PROBLEM_H_
