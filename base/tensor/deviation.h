// How large a tensor is, and how far two are apart; no NaN gets lost.
//
//   LargestMagnitude(output)
//   LargestDifference(output, other_output)      // NaN if there is a NaN
#ifndef SOFTLOOKUP_BASE_TENSOR_DEVIATION_H_
#define SOFTLOOKUP_BASE_TENSOR_DEVIATION_H_

#include <cstdint>

#include "base/tensor/tensor.h"

namespace softlookup {

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

// The number of NaNs.
template <typename T>
int64_t CountNaN(const Tensor<T>& a);

}  // namespace softlookup

#endif  // SOFTLOOKUP_BASE_TENSOR_DEVIATION_H_
