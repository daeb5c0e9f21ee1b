#include "base/saturating.h"

#include "gtest/gtest.h"

namespace softlookup {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(SaturatingTest, ExactWhereItFits) {
  EXPECT_EQ(SaturatingSum({}), 0);
  EXPECT_EQ(SaturatingSum({2, 3, 5}), 10);
  EXPECT_EQ(SaturatingSum({kMax, 0}), kMax);
  EXPECT_EQ(SaturatingProduct({}), 1);
  EXPECT_EQ(SaturatingProduct({2, 3, 5}), 30);
  EXPECT_EQ(SaturatingProduct({kMax, 1}), kMax);
}

TEST(SaturatingTest, StopsAtTheLargest) {
  EXPECT_EQ(SaturatingSum({kMax, 1}), kMax);
  EXPECT_EQ(SaturatingSum({kMax, kMax, kMax}), kMax);
  EXPECT_EQ(SaturatingProduct({int64_t{1} << 32, int64_t{1} << 31}), kMax);
  // Also where the wrapped product would be small again.
  EXPECT_EQ(SaturatingProduct({int64_t{1} << 62, 4, 3}), kMax);
}

TEST(SaturatingTest, NothingTimesAnything) {
  EXPECT_EQ(SaturatingProduct({int64_t{1} << 62, 4, 0}), 0);
}

}  // namespace
}  // namespace softlookup
