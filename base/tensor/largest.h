// The largest of the numbers seen, and NaN once there was one.
//
//   Largest deviation;                       // 0, as for deviations
//   for (...) deviation.See(std::abs(found - expected));
//   results["deviation"] = deviation.value();
//
// std::max would pass over a NaN, and a broken computation with it.
#ifndef SOFTLOOKUP_BASE_TENSOR_LARGEST_H_
#define SOFTLOOKUP_BASE_TENSOR_LARGEST_H_

#include <limits>

namespace softlookup {

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

}  // namespace softlookup

#endif  // SOFTLOOKUP_BASE_TENSOR_LARGEST_H_
