// Positions that enter attention itself: rotations of queries and keys, and
// biases on the scores.
//
//   const Tensor<float> table = RotationTable<float>(context, width);
//   Rotate(&table(position, 0), width, /*backwards=*/false, query);
#ifndef SOFTLOOKUP_MODEL_POSITION_ENCODING_H_
#define SOFTLOOKUP_MODEL_POSITION_ENCODING_H_

#include <cstdint>

#include "base/tensor/tensor.h"

namespace softlookup {

// [context, D]: the cosines of the angles position * 10000^(-2k / D), k < D/2,
// then their sines (Su et al. 2021).
template <typename T>
Tensor<T> RotationTable(int64_t context, int64_t width);

// Turns the pairs (k, k + D/2) of a head's vector by the angles of `turn`, a
// row of the table; backwards for the gradient.
template <typename T>
void Rotate(const T* turn, int64_t width, bool backwards, T* vector);

// [1, H, context, context]: -slope_h (i - j), slope_h = 2^(-8 (h + 1) / H)
// (Press, Smith and Lewis 2022).
template <typename T>
Tensor<T> AlibiBias(int64_t heads, int64_t context);

}  // namespace softlookup

#endif  // SOFTLOOKUP_MODEL_POSITION_ENCODING_H_
