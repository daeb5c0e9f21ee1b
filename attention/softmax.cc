#include "attention/softmax.h"

#include <cmath>
#include <complex>
#include <limits>

#include "base/check.h"
#include "base/elementary.h"

namespace softlookup {
namespace {

// The largest real part; NaN if there is a NaN; -inf for no scores. A plain
// number, not a variable, to the complex step: softmax and log-sum-exp do not
// depend on what is subtracted.
template <typename T>
auto Maximum(absl::Span<const T> scores) {
  using Real = decltype(RealPart(T()));
  Real maximum = -std::numeric_limits<Real>::infinity();
  for (const T& score : scores) {
    const Real real = RealPart(score);
    if (std::isnan(real)) return real;
    if (real > maximum) maximum = real;
  }
  return maximum;
}

template <typename T>
T Sum(absl::Span<const T> terms) {
  T sum = T(0);
  for (const T& term : terms) sum += term;
  return sum;
}

// exp(s_i - shift), [n].
template <typename T, typename Real>
std::vector<T> Exponentials(absl::Span<const T> scores, Real shift) {
  std::vector<T> exponentials;
  exponentials.reserve(scores.size());
  for (const T& score : scores) exponentials.push_back(Exp(score - shift));
  return exponentials;
}

template <typename T>
std::vector<T> Normalize(std::vector<T> weights) {
  const T sum = Sum<T>(weights);
  for (T& weight : weights) weight /= sum;
  return weights;
}

}  // namespace

template <typename T>
std::vector<T> Softmax(absl::Span<const T> scores) {
  return Normalize(Exponentials(scores, Maximum(scores)));
}

template <typename T>
T LogSumExp(absl::Span<const T> scores) {
  const auto maximum = Maximum(scores);
  if (!std::isfinite(maximum)) return maximum;
  return maximum + Log(Sum<T>(Exponentials(scores, maximum)));
}

template <typename T>
std::vector<T> SoftmaxWithoutMaximum(absl::Span<const T> scores) {
  return Normalize(Exponentials(scores, decltype(RealPart(T()))(0)));
}

template <typename T>
Tensor<T> SoftmaxJacobian(absl::Span<const T> p) {
  const int64_t n = static_cast<int64_t>(p.size());
  Tensor<T> jacobian({n, n});
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      jacobian(i, j) = p[i] * ((i == j ? T(1) : T(0)) - p[j]);
    }
  }
  return jacobian;
}

template <typename T>
T SoftmaxJacobianTrace(absl::Span<const T> p) {
  T trace = T(0);
  for (const T& weight : p) trace += weight * (T(1) - weight);
  return trace;
}

template <typename T>
std::vector<T> SoftmaxJacobianProduct(absl::Span<const T> p,
                                      absl::Span<const T> g) {
  SOFTLOOKUP_CHECK(p.size() == g.size(), "one gradient per weight");
  T mean = T(0);
  for (size_t j = 0; j < p.size(); ++j) mean += p[j] * g[j];
  std::vector<T> product(p.size());
  for (size_t i = 0; i < p.size(); ++i) product[i] = p[i] * (g[i] - mean);
  return product;
}

#define SOFTLOOKUP_INSTANTIATE(T)                                            \
  template std::vector<T> Softmax(absl::Span<const T> scores);               \
  template T LogSumExp(absl::Span<const T> scores);                          \
  template std::vector<T> SoftmaxWithoutMaximum(absl::Span<const T> scores); \
  template Tensor<T> SoftmaxJacobian(absl::Span<const T> p);                 \
  template T SoftmaxJacobianTrace(absl::Span<const T> p);                    \
  template std::vector<T> SoftmaxJacobianProduct(absl::Span<const T> p,      \
                                                 absl::Span<const T> g)
SOFTLOOKUP_INSTANTIATE(float);
SOFTLOOKUP_INSTANTIATE(double);
SOFTLOOKUP_INSTANTIATE(std::complex<double>);
#undef SOFTLOOKUP_INSTANTIATE

}  // namespace softlookup
