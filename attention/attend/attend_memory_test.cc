#include <cstdint>
#include <limits>

#include "attention/attend/attend_input.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

// Distinct primes, so that no two products are equal.
constexpr AttentionSizes kSizes = {.batch = 2,
                                   .query_heads = 6,
                                   .key_heads = 3,
                                   .queries = 5,
                                   .keys = 7,
                                   .width = 11,
                                   .value_width = 13};
constexpr int64_t kQuery = 2 * 6 * 5 * 11;
constexpr int64_t kKey = 2 * 3 * 7 * 11;
constexpr int64_t kValue = 2 * 3 * 7 * 13;
constexpr int64_t kOutput = 2 * 6 * 5 * 13;
constexpr int64_t kLogSumExp = 2 * 6 * 5;
constexpr int64_t kWeights = 2 * 6 * 5 * 7;

TEST(AttendBytesTest, Forward) {
  EXPECT_EQ(AttendBytes(kSizes, {}),
            8 * (kQuery + kKey + kValue + kOutput + kLogSumExp));
  EXPECT_EQ(AttendBytes(kSizes, {.element_bytes = 4}),
            4 * (kQuery + kKey + kValue + kOutput + kLogSumExp));
}

TEST(AttendBytesTest, EachPartAddsItsOwn) {
  const int64_t plain = AttendBytes(kSizes, {});
  EXPECT_EQ(AttendBytes(kSizes, {.file_bytes = 1001}), plain + 1001);
  EXPECT_EQ(AttendBytes(kSizes, {.bias_elements = 17}), plain + 8 * 17);
  EXPECT_EQ(AttendBytes(kSizes, {.mask_elements = 19}), plain + 19);
  EXPECT_EQ(AttendBytes(kSizes, {.weights = true}), plain + 8 * kWeights);
  EXPECT_EQ(AttendBytes(kSizes, {.scratch_bytes = 23}), plain + 23);
  EXPECT_EQ(AttendBytes(kSizes, {.bias_elements = 17, .backward = true}),
            plain + 8 * (17 + kOutput + kQuery + kKey + kValue + 17));
}

TEST(AttendBytesTest, SaturatesInsteadOfOverflowing) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  AttentionSizes sizes = kSizes;
  sizes.queries = sizes.keys = int64_t{1} << 40;
  EXPECT_EQ(AttendBytes(sizes, {.weights = true}), kMax);
  EXPECT_EQ(AttendBytes(kSizes, {.scratch_bytes = kMax}), kMax);
  EXPECT_EQ(AttendBytes(kSizes, {.file_bytes = kMax}), kMax);
  EXPECT_EQ(AttendBytes(kSizes, {.bias_elements = kMax}), kMax);
}

}  // namespace
}  // namespace softlookup
