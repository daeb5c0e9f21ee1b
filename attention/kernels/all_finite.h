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
  for (int64_t row = 0; row < rows; ++row) {
    const float* elements = tile + row * stride;
    int64_t k = 0;
    for (; k + 4 * Simd::kLanes <= width; k += 4 * Simd::kLanes) {
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        sum[i] = Simd::Fma(Simd::Load(elements + k + i * Simd::kLanes),
                           Simd::Zero(), sum[i]);
      }
    }
    for (; k < width; k += Simd::kLanes) {
      const int columns = static_cast<int>(Smaller(Simd::kLanes, width - k));
      sum[0] = Simd::Fma(Simd::LoadFirst(elements + k, columns), Simd::Zero(),
                         sum[0]);
    }
  }
  return !Simd::Any(Simd::IsNan(
      Simd::Add(Simd::Add(sum[0], sum[1]), Simd::Add(sum[2], sum[3]))));
}

}  // namespace softlookup::kernels

#endif  // SOFTLOOKUP_ATTENTION_KERNELS_ALL_FINITE_H_
