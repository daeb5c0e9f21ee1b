#include "experiments/layer_cost/running_average.h"

#include <cstdint>
#include <limits>

#include "base/elementary.h"
#include "experiments/layer_cost/traced.h"

namespace softlookup {

template <typename T>
Tensor<T> RunningAverage(const std::vector<T>& scores,
                         const Tensor<T>& values) {
  const int64_t dv = values.dim(1);
  Tensor<T> averages(values.shape());
  T maximum = T(-std::numeric_limits<double>::infinity());
  T sum = T(0);
  std::vector<T> average(dv, T(0));
  for (int64_t t = 0; t < values.dim(0); ++t) {
    const T largest = scores[t] > maximum ? scores[t] : maximum;
    // What the earlier positions weigh, and what this one adds.
    const T before = sum * Exp(maximum - largest);
    const T weight = Exp(scores[t] - largest);
    const T total = before + weight;
    for (int64_t c = 0; c < dv; ++c) {
      average[c] =
          Update((before * average[c] + weight * values(t, c)) / total);
      averages(t, c) = average[c];
    }
    maximum = Update(largest);
    sum = Update(total);
  }
  return averages;
}

template Tensor<double> RunningAverage(const std::vector<double>&,
                                       const Tensor<double>&);
template Tensor<Traced> RunningAverage(const std::vector<Traced>&,
                                       const Tensor<Traced>&);

}  // namespace softlookup
