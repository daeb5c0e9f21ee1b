// Attention in one pass over the keys, as fused kernels compute it.
//
// The keys come by in tiles, and each query takes in one tile after another as
// the online softmax does (attention/textbook/online_softmax.h). No row of
// scores is ever stored. A tile with every entry masked is skipped whole; in
// every other tile all scores are computed, masked ones too.
//
//   StreamingOptions options = {.query_tile = 16, .key_tile = 16};
//   StreamingOutputs<double> out =
//       StreamingAttention<double>(inputs, options).value();
//   out.scores_computed        // about half of B H Tq Tk under a causal mask
//
// A query that sees no key ends with a sum of 0 and gets an output of zeros.
// Written to be read, not to be fast. T is float or double.
//
// Source: the chapter, section 2, on the fused call and the half that a causal
// kernel skips.
#ifndef SOFTLOOKUP_ATTENTION_TEXTBOOK_STREAMING_ATTENTION_H_
#define SOFTLOOKUP_ATTENTION_TEXTBOOK_STREAMING_ATTENTION_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "attention/attention.h"
#include "base/tensor/tensor.h"

namespace softlookup {

struct StreamingOptions {
  int64_t query_tile = 1;  // queries per tile, at least 1
  int64_t key_tile = 1;    // keys per tile, at least 1
};

template <typename T>
struct StreamingOutputs {
  Tensor<T> output;             // [B, H, Tq, Dv]
  int64_t scores_computed = 0;  // query-key products that were taken
  int64_t tiles = 0;            // of all heads and batch entries
  int64_t tiles_skipped = 0;    // with every entry masked
};

// Scale 1 / sqrt(D). InvalidArgument as CheckAttention gives it, for a bias,
// and for a tile below 1.
template <typename T>
absl::StatusOr<StreamingOutputs<T>> StreamingAttention(
    const AttentionInputs<T>& inputs, const StreamingOptions& options);

// How far one streaming pass and the textbook order may differ from rounding
// alone, to first order in the unit u (2^-53 in double, 2^-24 in float), for
// the same dot products, |score| <= s, T keys and |value| <= v.
//
// By hand, score = dot / sqrt(D) carries 2 roundings, so exp(score - m) has a
// relative error of 2 s u from the score, 2 s u from the subtraction and 2 u
// from exp (one ulp). The denominator adds T - 1 roundings, the quotient, the
// product with a value and the average T + 1. In all
//   2 (4 s + 2) + (T - 1) + T + 1 = 8 s + 2 T + 4.
// Streaming multiplies by 1 / sqrt(D): 3 roundings of the score. The
// subtractions of exp(score - m) and of the rescalings exp(m_old - m_new) sum
// to 4 s; exp costs 2, each of at most T - 1 rescalings 2 + 1, each addition 1.
// Numerator and denominator each have 7 s + 2 + 4 (T - 1), and the product and
// the quotient one more: 14 s + 8 T - 2 in all. Together, with one percent for
// the terms of second order:
//   1.01 (22 s + 10 T + 2) u v.
double StreamingErrorBound(double largest_score, int64_t keys,
                           double largest_value, double unit);

}  // namespace softlookup

#endif  // SOFTLOOKUP_ATTENTION_TEXTBOOK_STREAMING_ATTENTION_H_
