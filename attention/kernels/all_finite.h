// Whether a tile holds neither infinities nor NaN: where a masked weight of 0
// may be multiplied like any other, because 0 times it is 0.
#ifndef SOFTLOOKUP_ATTENTION_KERNELS_ALL_FINITE_H_
#define SOFTLOOKUP_ATTENTION_KERNELS_ALL_FINITE_H_

#include <cstdint>

#include "attention/kernels/integers.h"

namespace softlookup::kernels {

template <typename Simd>
bool AllFinite(const float* tile, int64_t stride, int64_t rows, int64_t width) {
  // 0 times what is not finite is NaN, and a sum with a NaN stays NaN. Four
  // sums, because each waits for its last addition.
  typename Simd::Float sum[4];
  for (auto& part : sum) part = Simd::Zero();
  const int64_t whole = width / Simd::kLanes * Simd::kLanes;
  int64_t row = 0;
  for (; row + 4 <= rows; row += 4) {
    for (int64_t k = 0; k < whole; k += Simd::kLanes) {
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        sum[i] = Simd::Fma(Simd::Load(tile + (row + i) * stride + k),
                           Simd::Zero(), sum[i]);
      }
    }
  }
  for (; row < rows; ++row) {
    for (int64_t k = 0; k < whole; k += Simd::kLanes) {
      sum[0] =
          Simd::Fma(Simd::Load(tile + row * stride + k), Simd::Zero(), sum[0]);
    }
  }
  if (whole < width) {
    for (row = 0; row < rows; ++row) {
      sum[0] = Simd::Fma(Simd::LoadFirst(tile + row * stride + whole,
                                         static_cast<int>(width - whole)),
                         Simd::Zero(), sum[0]);
    }
  }
  return !Simd::Any(Simd::IsNan(
      Simd::Add(Simd::Add(sum[0], sum[1]), Simd::Add(sum[2], sum[3]))));
}

}  // namespace softlookup::kernels

#endif  // SOFTLOOKUP_ATTENTION_KERNELS_ALL_FINITE_H_
