#include "base/tensor/half.h"

#include <bit>

namespace softlookup {
namespace {

constexpr uint32_t kFloatSign = 0x80000000u;
constexpr uint32_t kFloatInfinity = 0x7f800000u;
constexpr uint32_t kFloatQuiet = 0x00400000u;

constexpr uint16_t kHalfSign = 0x8000u;
constexpr uint16_t kHalfInfinity = 0x7c00u;
constexpr uint16_t kHalfQuiet = 0x0200u;
constexpr uint16_t kHalfSmallestNormal = 0x0400u;

// A float has 13 more fraction bits than a half, and its exponent is biased
// by 127 instead of 15.
constexpr int kHalfShift = 13;
constexpr uint32_t kHalfRebias = (127u - 15u) << 23;

// 2^-14, the smallest normal half, as a float's bits.
constexpr uint32_t kSmallestNormalHalfAsFloat = 0x38800000u;
// 65520 = 65504 + 16, half a unit above the largest half: it and all above
// round to infinity.
constexpr uint32_t kRoundsToInfinity = 0x477ff000u;

// Adds what makes dropping the low `shift` bits round to nearest, ties to
// even: half a unit less one bit, and that bit when the kept part is odd.
constexpr uint32_t RoundBits(uint32_t bits, int shift) {
  return bits + (1u << (shift - 1)) - 1u + ((bits >> shift) & 1u);
}

}  // namespace

float FloatFromHalf(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & kHalfSign) << 16;
  const uint32_t magnitude = half & ~kHalfSign & 0xffffu;
  if (magnitude >= kHalfInfinity) {
    const uint32_t quiet = magnitude > kHalfInfinity ? kFloatQuiet : 0u;
    return std::bit_cast<float>(sign | kFloatInfinity | quiet |
                                (magnitude - kHalfInfinity) << kHalfShift);
  }
  if (magnitude >= kHalfSmallestNormal) {
    return std::bit_cast<float>(sign |
                                ((magnitude << kHalfShift) + kHalfRebias));
  }
  // Subnormal or zero: the fraction counts units of 2^-24.
  const float value = static_cast<float>(magnitude) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
}

uint16_t HalfFromFloat(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits & kFloatSign) >> 16;
  const uint32_t magnitude = bits & ~kFloatSign;
  uint32_t half;
  if (magnitude > kFloatInfinity) {
    half =
        kHalfInfinity | kHalfQuiet | (magnitude - kFloatInfinity) >> kHalfShift;
  } else if (magnitude >= kRoundsToInfinity) {
    half = kHalfInfinity;
  } else if (magnitude >= kSmallestNormalHalfAsFloat) {
    half = (RoundBits(magnitude, kHalfShift) - kHalfRebias) >> kHalfShift;
  } else {
    // Floats in [1/2, 1) are 2^-24 apart, as subnormal halves are: adding 1/2
    // rounds to them, and the result's bits count them.
    const float rounded = std::bit_cast<float>(magnitude) + 0.5f;
    half = std::bit_cast<uint32_t>(rounded) - std::bit_cast<uint32_t>(0.5f);
  }
  return static_cast<uint16_t>(sign | half);
}

float FloatFromBFloat16(uint16_t bfloat16) {
  uint32_t bits = static_cast<uint32_t>(bfloat16) << 16;
  if ((bits & ~kFloatSign) > kFloatInfinity) bits |= kFloatQuiet;
  return std::bit_cast<float>(bits);
}

uint16_t BFloat16FromFloat(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & ~kFloatSign) > kFloatInfinity) {
    return static_cast<uint16_t>((bits | kFloatQuiet) >> 16);
  }
  return static_cast<uint16_t>(RoundBits(bits, 16) >> 16);
}

}  // namespace softlookup
