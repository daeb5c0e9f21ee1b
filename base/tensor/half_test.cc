#include "base/tensor/half.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/random/philox.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

// A 16-bit format by its definition, decoded in double arithmetic, which is
// exact here: the independent method that the bit manipulation is held to.
struct Format {
  const char* name;
  int exponent_bits;
  int fraction_bits;
  float (*widen)(uint16_t);
  uint16_t (*narrow)(float);

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  uint16_t infinity() const {
    return static_cast<uint16_t>(((1 << exponent_bits) - 1) << fraction_bits);
  }
  // The value of a finite magnitude (sign bit clear). Read as if the infinity
  // were finite, its pattern is the next power of two, which is what rounding
  // to nearest needs.
  double Decode(uint32_t magnitude) const {
    const int exponent = static_cast<int>(magnitude >> fraction_bits);
    const int fraction =
        static_cast<int>(magnitude) & ((1 << fraction_bits) - 1);
    if (exponent == 0) return std::ldexp(fraction, 1 - bias() - fraction_bits);
    return std::ldexp((1 << fraction_bits) + fraction,
                      exponent - bias() - fraction_bits);
  }
  // The nearest magnitude to a non-negative value, ties to even, by search.
  uint16_t Nearest(double value) const {
    uint32_t low = 0;
    uint32_t high = infinity();
    while (high - low > 1) {
      const uint32_t middle = (low + high) / 2;
      (Decode(middle) <= value ? low : high) = middle;
    }
    const double below = value - Decode(low);
    const double above = Decode(high) - value;
    if (below != above)
      return static_cast<uint16_t>(below < above ? low : high);
    return static_cast<uint16_t>(low % 2 == 0 ? low : high);
  }
};

constexpr Format kFormats[] = {
    {"binary16", 5, 10, FloatFromHalf, HalfFromFloat},
    {"bfloat16", 8, 7, FloatFromBFloat16, BFloat16FromFloat},
};

class HalfTest : public testing::TestWithParam<Format> {};

TEST_P(HalfTest, WidensEveryPatternExactly) {
  const Format& format = GetParam();
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = format.widen(static_cast<uint16_t>(bits));
    const uint32_t magnitude = bits & 0x7fff;
    ASSERT_EQ(std::signbit(value), bits >= 0x8000) << bits;
    if (magnitude > format.infinity()) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      // Widening quiets a signalling NaN, as hardware does.
      ASSERT_NE(std::bit_cast<uint32_t>(value) & 0x00400000u, 0) << bits;
    } else if (magnitude == format.infinity()) {
      ASSERT_TRUE(std::isinf(value)) << bits;
    } else {
      // An exact comparison: both sides are the same real number.
      ASSERT_EQ(std::fabs(value), format.Decode(magnitude)) << bits;
    }
  }
}

TEST_P(HalfTest, EveryPatternSurvivesTheRoundTrip) {
  const Format& format = GetParam();
  const uint32_t quiet = 1u << (format.fraction_bits - 1);
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const bool nan = (bits & 0x7fff) > format.infinity();
    ASSERT_EQ(format.narrow(format.widen(static_cast<uint16_t>(bits))),
              nan ? bits | quiet : bits);
  }
}

// Between each two neighbours: the midpoint goes to the even one, and the
// floats just beside the midpoint to the nearer one. The last pair is the
// largest finite value and the infinity.
TEST_P(HalfTest, RoundsToNearestEvenBetweenAllNeighbours) {
  const Format& format = GetParam();
  for (uint32_t low = 0; low < format.infinity(); ++low) {
    const uint32_t even = low % 2 == 0 ? low : low + 1;
    const double exact = (format.Decode(low) + format.Decode(low + 1)) / 2;
    const float middle = static_cast<float>(exact);
    ASSERT_EQ(middle, exact) << "a midpoint is a float";
    ASSERT_EQ(format.narrow(middle), even) << low;
    ASSERT_EQ(format.narrow(-middle), even | 0x8000) << low;
    const float below = std::nextafter(middle, 0.0f);
    const float above = std::nextafter(middle, HUGE_VALF);
    ASSERT_EQ(format.narrow(below), low);
    ASSERT_EQ(format.narrow(-below), low | 0x8000);
    ASSERT_EQ(format.narrow(above), low + 1);
    ASSERT_EQ(format.narrow(-above), (low + 1) | 0x8000);
  }
}

TEST_P(HalfTest, RoundsDrawnFloatsToTheNearest) {
  const Format& format = GetParam();
  constexpr uint32_t kSeed = 20240607;
  for (uint32_t n = 0; n < 50000; ++n) {
    // Patterns of all exponents, subnormal floats included.
    const uint32_t bits = Philox4x32({n, 0, 0, 0}, {kSeed, 0})[0];
    const float value = std::bit_cast<float>(bits);
    if (std::isnan(value)) continue;
    const double magnitude = std::min(std::fabs(static_cast<double>(value)),
                                      format.Decode(format.infinity()));
    const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    ASSERT_EQ(format.narrow(value), sign | format.Nearest(magnitude))
        << "seed " << kSeed << ", draw " << n << ", value " << value;
  }
}

TEST_P(HalfTest, KeepsInfinitiesAndNaNs) {
  const Format& format = GetParam();
  EXPECT_EQ(format.narrow(HUGE_VALF), format.infinity());
  EXPECT_EQ(format.narrow(-HUGE_VALF), format.infinity() | 0x8000);
  EXPECT_EQ(format.narrow(std::numeric_limits<float>::max()),
            format.infinity());
  // A NaN whose payload lies in the bits that are dropped, positive and
  // negative, and one with every bit set.
  for (const uint32_t bits :
       {0x7f800001u, 0xff800001u, 0x7fffffffu, 0xffffffffu}) {
    const uint16_t narrow = format.narrow(std::bit_cast<float>(bits));
    EXPECT_GT(narrow & 0x7fff, format.infinity()) << bits;
    EXPECT_EQ(narrow >> 15, bits >> 31);
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, HalfTest, testing::ValuesIn(kFormats),
                         [](const testing::TestParamInfo<Format>& info) {
                           return info.param.name;
                         });

// Values from numpy 1.24 (float16) and PyTorch 2.15 (bfloat16), as bits.
TEST(HalfTest, AgreesWithNumPy) {
  EXPECT_EQ(HalfFromFloat(0.1f), 0x2e66);
  EXPECT_EQ(HalfFromFloat(-2.7182818f), 0xc170);
  EXPECT_EQ(HalfFromFloat(65504.0f), 0x7bff);
  EXPECT_EQ(HalfFromFloat(65519.996f), 0x7bff);
  EXPECT_EQ(HalfFromFloat(65520.0f), 0x7c00);
  EXPECT_EQ(HalfFromFloat(6.1e-5f), 0x03ff);
  EXPECT_EQ(HalfFromFloat(1e-7f), 0x0002);
  EXPECT_EQ(HalfFromFloat(2.9802322e-8f), 0x0000);
  EXPECT_EQ(HalfFromFloat(-1e-10f), 0x8000);
}

TEST(BFloat16Test, AgreesWithPyTorch) {
  EXPECT_EQ(BFloat16FromFloat(0.1f), 0x3dcd);
  EXPECT_EQ(BFloat16FromFloat(-2.7182818f), 0xc02e);
  EXPECT_EQ(BFloat16FromFloat(1.00390625f), 0x3f80);
  EXPECT_EQ(BFloat16FromFloat(1.01171875f), 0x3f82);
  EXPECT_EQ(BFloat16FromFloat(3.39e38f), 0x7f7f);
  EXPECT_EQ(BFloat16FromFloat(3.4e38f), 0x7f80);
  EXPECT_EQ(BFloat16FromFloat(1e-40f), 0x0001);
}

}  // namespace
}  // namespace softlookup
