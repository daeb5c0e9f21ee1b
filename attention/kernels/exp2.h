// 2^x for x <= 0, inline, inside the attention kernels.
//
// Error under 1 ulp down to x = -126.5, exactly 0 below it (-inf included: how
// a masked score becomes a weight of exactly 0), exactly 1 at x = 0, NaN for
// NaN. Minimax polynomial of degree 6 for 2^r, |r| <= 1/2, with constant term 1
// and coefficients rounded to float one by one (relative error 2.0e-9 before
// rounding).
#ifndef SOFTLOOKUP_ATTENTION_KERNELS_EXP2_H_
#define SOFTLOOKUP_ATTENTION_KERNELS_EXP2_H_

#include "attention/kernels/always_inline.h"

namespace softlookup::kernels {

inline constexpr float kLog2E = 1.44269504f;

template <typename Simd>
SOFTLOOKUP_INLINE typename Simd::Float Exp2NonPositive(typename Simd::Float x) {
  // Adding 1.5 * 2^23 + 127 leaves n + 127, n the nearest integer, in the low
  // mantissa bits: the exponent bits of 2^n once they are shifted there, and of
  // 0 for n = -127.
  const typename Simd::Float magic = Simd::Set(12582912.0f + 127.0f);
  // In this order a NaN passes through.
  x = Simd::Max(Simd::Set(-127.0f), x);
  const typename Simd::Float shifted = Simd::Add(x, magic);
  const typename Simd::Float r = Simd::Sub(x, Simd::Sub(shifted, magic));
  typename Simd::Float p = Simd::Set(0x1.416b5p-13f);
  p = Simd::Fma(p, r, Simd::Set(0x1.5f082ep-10f));
  p = Simd::Fma(p, r, Simd::Set(0x1.3b2dep-7f));
  p = Simd::Fma(p, r, Simd::Set(0x1.c6af7cp-5f));
  p = Simd::Fma(p, r, Simd::Set(0x1.ebfbdcp-3f));
  p = Simd::Fma(p, r, Simd::Set(0x1.62e43p-1f));
  p = Simd::Fma(p, r, Simd::Set(1.0f));
  // A product, so that a NaN stays one whatever its bits.
  return Simd::Mul(p, Simd::ShiftToExponent(shifted));
}

// 2^x or, of a head with a bias, e^x (see HeadProblem), for x <= 0.
template <typename Simd, bool kBias>
SOFTLOOKUP_INLINE typename Simd::Float Exponential(typename Simd::Float x) {
  return Exp2NonPositive<Simd>(kBias ? Simd::Mul(x, Simd::Set(kLog2E)) : x);
}

}  // namespace softlookup::kernels

#endif  // SOFTLOOKUP_ATTENTION_KERNELS_EXP2_H_
