#include "base/tensor/deviation.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace softlookup {

double LargerOrNaN(double a, double b) {
  return std::isnan(a) || a > b ? a : b;
}

template <typename T>
double LargestMagnitude(const Tensor<T>& a) {
  double largest = 0;
  for (const T x : a.elements()) {
    largest = LargerOrNaN(std::abs(static_cast<double>(x)), largest);
  }
  return largest;
}

template <typename T>
double LargestDifference(const Tensor<T>& a, const Tensor<T>& b) {
  SOFTLOOKUP_CHECK(a.shape() == b.shape(), "tensors of one shape");
  double largest = 0;
  for (int64_t n = 0; n < a.size(); ++n) {
    const double difference =
        static_cast<double>(a[n]) - static_cast<double>(b[n]);
    largest = LargerOrNaN(std::abs(difference), largest);
  }
  return largest;
}

double LargestDifference(absl::Span<const double> a,
                         absl::Span<const double> b) {
  SOFTLOOKUP_CHECK(a.size() == b.size(), "lists of one length");
  Largest largest;
  for (size_t n = 0; n < a.size(); ++n) largest.See(std::abs(a[n] - b[n]));
  return largest.value();
}

template <typename T>
int64_t CountNaN(const Tensor<T>& a) {
  return std::count_if(a.elements().begin(), a.elements().end(),
                       [](T x) { return std::isnan(x); });
}

#define SOFTLOOKUP_INSTANTIATE(T)                                            \
  template double LargestMagnitude(const Tensor<T>& a);                      \
  template double LargestDifference(const Tensor<T>& a, const Tensor<T>& b); \
  template int64_t CountNaN(const Tensor<T>& a)
SOFTLOOKUP_INSTANTIATE(float);
SOFTLOOKUP_INSTANTIATE(double);
#undef SOFTLOOKUP_INSTANTIATE

}  // namespace softlookup
