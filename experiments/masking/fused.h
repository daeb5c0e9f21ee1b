// One pass against the textbook, and the softmax's safety, for experiment
// masking.
//
// Each function returns one member of the experiment's results.
//
// Source: the chapter, section 2, on the fused call, the half of the work that
// a causal kernel skips, and subtracting the maximum.
#ifndef SOFTLOOKUP_EXPERIMENTS_MASKING_FUSED_H_
#define SOFTLOOKUP_EXPERIMENTS_MASKING_FUSED_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "base/tensor/shape.h"

namespace softlookup {

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

// Streaming attention against attention by hand under a causal mask and right
// padding, in float and in double, for several tile widths. `shape` is
// [2, H, T, D]; the second sequence has `short_length` tokens.
absl::StatusOr<Json> MeasureFusedAgainstHand(uint64_t seed, const Shape& shape,
                                             int64_t short_length);

// The share of scores that a causal streaming pass over `positions` tokens
// never computes, for tiles of 1, 2, 4, ... up to `positions` queries and
// keys; and the same without a mask.
absl::StatusOr<Json> MeasureSkippedWork(uint64_t seed, int64_t positions);

// The softmax with and without subtracting the largest score, in float and in
// double: the same weights on small scores; on growing scores, where the
// exponential overflows and what becomes of the weights.
Json MeasureNumericalSafety(uint64_t seed);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_MASKING_FUSED_H_
