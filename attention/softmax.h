// Softmax, log-sum-exp and the softmax Jacobian of one row of scores.
//
//   p_i = exp(s_i) / sum_k exp(s_k)          log-sum-exp = log sum_k exp(s_k)
//
//   std::vector<double> scores = {0.0, 1.0};
//   std::vector<double> p = Softmax<double>(scores);   // {0.2689, 0.7311}
//   double z = LogSumExp<double>(scores);              // 1.3133
//   std::vector<double> ds = SoftmaxJacobianProduct<double>(p, g);
//
// T is float, double or std::complex<double> (for complex-step derivatives;
// maxima then compare real parts). All sums run in index order.
//
// Non-finite scores follow IEEE arithmetic, as a hand-written softmax does: a
// NaN, a +inf, or a row of nothing but -inf makes every weight NaN. Which keys
// enter a row at all is the caller's business (attention/mask.h).
//
// Source: the chapter, section 2, on the row-wise softmax, its Jacobian and
// numerical safety.
#ifndef SOFTLOOKUP_ATTENTION_SOFTMAX_H_
#define SOFTLOOKUP_ATTENTION_SOFTMAX_H_

#include <vector>

#include "absl/types/span.h"
#include "base/tensor/tensor.h"

namespace softlookup {

// The weights of a row of n scores, [n]. The largest score is subtracted
// first: the weights stay the same and no exponential overflows.
template <typename T>
std::vector<T> Softmax(absl::Span<const T> scores);

// log sum_k exp(s_k), with the largest score subtracted first and added back.
// -inf for no scores and for scores that are all -inf; +inf with a score of
// +inf; NaN with a NaN.
template <typename T>
T LogSumExp(absl::Span<const T> scores);

// The formula as it stands in a textbook, without subtracting the largest
// score: overflows to inf / inf = NaN from scores of about 710 on in double,
// and to 0 / 0 = NaN when every exponential underflows. Kept to show that.
template <typename T>
std::vector<T> SoftmaxWithoutMaximum(absl::Span<const T> scores);

// J_ij = dp_i / ds_j = p_i (delta_ij - p_j), [n, n], at weights p, [n].
template <typename T>
Tensor<T> SoftmaxJacobian(absl::Span<const T> p);

// The trace of J, 1 - sum_i p_i^2: largest, 1 - 1/n, for uniform weights and 0
// for one-hot ones. Summed as sum_i p_i (1 - p_i), which does not cancel.
template <typename T>
T SoftmaxJacobianTrace(absl::Span<const T> p);

// J g without forming J: p_i (g_i - sum_j p_j g_j), [n]. J is symmetric, so
// this is also the gradient of the scores from g = dL/dp.
template <typename T>
std::vector<T> SoftmaxJacobianProduct(absl::Span<const T> p,
                                      absl::Span<const T> g);

}  // namespace softlookup

#endif  // SOFTLOOKUP_ATTENTION_SOFTMAX_H_
