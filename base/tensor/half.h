// The two 16-bit floating-point formats, as bits, to and from float.
//
//   binary16   1 sign, 5 exponent, 10 fraction bits (IEEE 754; "F16")
//   bfloat16   1 sign, 8 exponent, 7 fraction bits (the upper half of a float)
//
// Widening is exact. Narrowing rounds to nearest, ties to even; what rounds
// beyond the largest finite value becomes an infinity, and what lies below the
// smallest normal value becomes a subnormal or a zero of the same sign. A NaN
// stays a NaN, made quiet, with its sign and the leading bits of its payload.
//
//   FloatFromHalf(0x3c00)           // 1.0f
//   HalfFromFloat(65520.0f)         // 0x7c00, infinity
//   BFloat16FromFloat(1.00390625f)  // 0x3f80: a tie, to even
//
// Integer arithmetic on bits but for binary16 subnormals, so that the results
// are the same on every processor.
#ifndef SOFTLOOKUP_BASE_TENSOR_HALF_H_
#define SOFTLOOKUP_BASE_TENSOR_HALF_H_

#include <cstdint>

namespace softlookup {

float FloatFromHalf(uint16_t half);
uint16_t HalfFromFloat(float value);

float FloatFromBFloat16(uint16_t bfloat16);
uint16_t BFloat16FromFloat(float value);

}  // namespace softlookup

#endif  // SOFTLOOKUP_BASE_TENSOR_HALF_H_
