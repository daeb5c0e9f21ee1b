#include "attention/kernels/view_checks.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/random/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace softlookup::kernels {
namespace {

using ::testing::HasSubstr;

class ViewChecksTest : public ::testing::Test {
 protected:
  std::vector<float> memory_ = std::vector<float>(1000);
  StridedView<float> At(int64_t offset, Shape shape, Shape strides) {
    return {memory_.data() + offset, {std::move(shape), std::move(strides)}};
  }
};

TEST_F(ViewChecksTest, Alignment) {
  EXPECT_TRUE(CheckAlignment("x", At(1, {2}, {1})).ok());
  const auto address = reinterpret_cast<uintptr_t>(memory_.data()) + 2;
  const StridedView<const float> odd(
      reinterpret_cast<const float*>(address),  // NOLINT: the point of it
      Shape{2});
  EXPECT_EQ(CheckAlignment("x", odd).message(),
            "x starts at an address that is not a multiple of 4");
}

TEST_F(ViewChecksTest, Targets) {
  EXPECT_TRUE(CheckTarget("x", At(0, {3, 4}, {4, 1}), {3, 4}).ok());
  EXPECT_TRUE(CheckTarget("x", At(0, {3, 4}, {9, 1}), {3, 4}).ok());
  // Any order of the axes but the last.
  EXPECT_TRUE(CheckTarget("x", At(0, {2, 3, 4}, {4, 8, 1}), {2, 3, 4}).ok());
  EXPECT_TRUE(CheckTarget("x", At(0, {1, 1}, {0, 0}), {1, 1}).ok());
  EXPECT_TRUE(CheckTarget("x", At(0, {0, 4}, {0, 1}), {0, 4}).ok());
  // Rows one element too close.
  EXPECT_THAT(
      std::string(CheckTarget("x", At(0, {3, 4}, {3, 1}), {3, 4}).message()),
      HasSubstr("elements share memory"));
  EXPECT_THAT(
      std::string(CheckTarget("x", At(0, {3, 4}, {0, 1}), {3, 4}).message()),
      HasSubstr("elements share memory"));
}

TEST_F(ViewChecksTest, ApartMeansBeforeOrAfter) {
  const auto a = At(100, {10}, {1});
  EXPECT_TRUE(CheckApart("a", a, "b", At(90, {10}, {1})).ok());
  EXPECT_TRUE(CheckApart("a", a, "b", At(110, {10}, {1})).ok());
  EXPECT_FALSE(CheckApart("a", a, "b", At(91, {10}, {1})).ok());
  EXPECT_FALSE(CheckApart("a", a, "b", At(109, {10}, {1})).ok());
  EXPECT_TRUE(CheckApart("a", a, "b", At(105, {0}, {1})).ok());
  // Strides that run backwards.
  EXPECT_FALSE(CheckApart("a", a, "b", At(112, {4}, {-1})).ok());
  EXPECT_TRUE(CheckApart("a", a, "b", At(113, {4}, {-1})).ok());
}

// Small views of every kind against the elements themselves.
TEST_F(ViewChecksTest, TargetsApartOrNotAsTheirElementsAre) {
  RandomStream stream(1, "view_checks_test");
  int apart = 0;
  for (int n = 0; n < 3000; ++n) {
    const auto draw = [&](uint32_t bound) -> int64_t {
      return 1 + stream.UniformInt(bound);
    };
    // Queries, keys and values as parts of one row, with other head counts.
    const int64_t width = draw(4);
    const int64_t row = width * draw(8);
    const Shape strides = {row * 4, width, row, 1};
    const auto a =
        At(stream.UniformInt(40), {draw(2), draw(4), draw(4), width}, strides);
    const auto b =
        At(stream.UniformInt(40), {draw(2), draw(4), draw(4), width}, strides);
    if (!CheckTarget("a", a, a.shape()).ok() ||
        !CheckTarget("b", b, b.shape()).ok()) {
      continue;
    }
    std::set<const float*> addresses;
    ForEachElement([&](float& x) { addresses.insert(&x); }, a);
    bool meet = false;
    ForEachElement([&](float& x) { meet = meet || addresses.count(&x) > 0; },
                   b);
    ASSERT_EQ(CheckTargetsApart("a", a, "b", b).ok(), !meet) << "case " << n;
    apart += meet ? 0 : 1;
  }
  EXPECT_GT(apart, 100);
}

// [T, 3, H, D] with its middle axis taken apart.
TEST_F(ViewChecksTest, TargetsMayInterleave) {
  const auto part = [this](int64_t n, int64_t heads, int64_t width) {
    return At(n * 8, {5, heads, width}, {24, 4, 1});
  };
  EXPECT_TRUE(CheckTargetsApart("a", part(0, 2, 4), "b", part(1, 2, 4)).ok());
  EXPECT_TRUE(CheckTargetsApart("a", part(2, 2, 4), "b", part(0, 1, 3)).ok());
  EXPECT_FALSE(CheckTargetsApart("a", part(0, 2, 4), "b", part(0, 2, 4)).ok());
  EXPECT_FALSE(CheckTargetsApart("a", At(0, {5, 2, 4}, {24, 4, 1}), "b",
                                 At(7, {5, 2, 4}, {24, 4, 1}))
                   .ok());
  EXPECT_FALSE(CheckTargetsApart("a", At(0, {5, 2, 4}, {24, 4, 1}), "b",
                                 At(8, {5, 2, 4}, {25, 4, 1}))
                   .ok());
}

}  // namespace
}  // namespace softlookup::kernels
