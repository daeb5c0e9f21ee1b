// How large numbers are and how far two tensors are apart; no NaN gets lost.
//
//   Largest deviation;                           // 0, as for deviations
//   for (...) deviation.See(std::abs(found - expected));
//   results.deviation = deviation.value();       // NaN once there was one
//
//   LargestMagnitude(output)
//   LargestDifference(output, other_output)      // NaN if there is a NaN
//
// std::max would pass over a NaN, and a broken computation with it: every
// deviation that a claim rests on is taken here.
#ifndef SOFTLOOKUP_BASE_TENSOR_DEVIATION_H_
#define SOFTLOOKUP_BASE_TENSOR_DEVIATION_H_

#include <cstdint>
#include <limits>

#include "absl/types/span.h"
#include "base/tensor/tensor.h"

namespace softlookup {

// The largest of the numbers seen, and NaN once there was one.
class Largest {
 public:
  // `start` counts as seen.
  explicit Largest(double start = 0) : value_(start) {}
  // For numbers of either sign: -inf until one is seen.
  static Largest OfAny() {
    return Largest(-std::numeric_limits<double>::infinity());
  }

  // Negated comparisons: they hold for a NaN on either side.
  void See(double x) {
    if (value_ == value_ && !(x <= value_)) value_ = x;
  }
  double value() const { return value_; }

 private:
  double value_;
};

// The smallest of the numbers seen, and NaN once there was one; infinite
// before.
class Smallest {
 public:
  void See(double x) { largest_negative_.See(-x); }
  // 0 - x, for a zero without a sign.
  double value() const { return 0 - largest_negative_.value(); }

 private:
  Largest largest_negative_ = Largest::OfAny();
};

// The larger of two numbers, or the NaN among them: a maximum that loses no
// NaN.
double LargerOrNaN(double a, double b);

// The largest |a_n|; NaN if there is a NaN. T is float or double.
template <typename T>
double LargestMagnitude(const Tensor<T>& a);

// The largest |a_n - b_n| over two tensors of one shape; NaN if there is a
// NaN.
template <typename T>
double LargestDifference(const Tensor<T>& a, const Tensor<T>& b);

// The same over two lists of one length.
double LargestDifference(absl::Span<const double> a,
                         absl::Span<const double> b);

// The number of NaNs.
template <typename T>
int64_t CountNaN(const Tensor<T>& a);

}  // namespace softlookup

#endif  // SOFTLOOKUP_BASE_TENSOR_DEVIATION_H_
