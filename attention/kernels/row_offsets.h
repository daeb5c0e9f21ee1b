// What the backward pass subtracts from the scores of a row before it
// exponentiates them.
//
// P = exp(S - L) from the stored log-sum-exp L is as exact as L, which for
// |L| = 10^9 says nothing about how many keys share the weight. Rows of large L
// get their maximum and the logarithm of their sum back, from the scores.
#ifndef SOFTLOOKUP_ATTENTION_KERNELS_ROW_OFFSETS_H_
#define SOFTLOOKUP_ATTENTION_KERNELS_ROW_OFFSETS_H_

#include <cstdint>

#include "attention/kernels/head_problem.h"

namespace softlookup::kernels {

// The largest |L| that is taken as it is: P is then off by a factor of up to
// 1 + kExactLogSumExp 2^-24.
inline constexpr float kExactLogSumExp = 1024;

// For the queries i of [begin, end) of a head: P = exp(min(0, S - maximum[i]) -
// log_sum[i]), in the scores' unit (HeadProblem), from log_sum_exp [Tq].
// maximum is +inf, for weights of exactly 0, where a query sees no key, and NaN
// where the forward's weights were.
void RowOffsets(const HeadProblem& head, int64_t begin, int64_t end,
                const float* log_sum_exp, float* maximum, float* log_sum);

}  // namespace softlookup::kernels

#endif  // SOFTLOOKUP_ATTENTION_KERNELS_ROW_OFFSETS_H_
