#include "base/tensor/shape.h"

#include <cstdint>
#include <limits>
#include <optional>

#include "gtest/gtest.h"

namespace softlookup {
namespace {

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();

TEST(ShapeString, ListsDimensions) {
  EXPECT_EQ(ShapeString({2, 8, 5, 32}), "[2, 8, 5, 32]");
  EXPECT_EQ(ShapeString({7}), "[7]");
  EXPECT_EQ(ShapeString({}), "[]");
}

TEST(NumElements, MultipliesDimensions) {
  EXPECT_EQ(NumElements({2, 3, 4}), 24);
  EXPECT_EQ(NumElements({}), 1);
  EXPECT_EQ(NumElements({5, 0, 3}), 0);
}

TEST(NumElements, RefusesNegativeDimensions) {
  EXPECT_EQ(NumElements({-1}), std::nullopt);
  EXPECT_EQ(NumElements({2, -3}), std::nullopt);
  EXPECT_EQ(NumElements({0, -3}), std::nullopt);
  EXPECT_EQ(NumElements({-2, -3}), std::nullopt);
}

TEST(NumElements, RefusesWhatDoesNotFit) {
  EXPECT_EQ(NumElements({kLargest}), kLargest);
  EXPECT_EQ(NumElements({kLargest, 1}), kLargest);
  EXPECT_EQ(NumElements({kLargest, 2}), std::nullopt);
  EXPECT_EQ(NumElements({int64_t{1} << 32, int64_t{1} << 31}), std::nullopt);
  EXPECT_EQ(NumElements({int64_t{1} << 31, int64_t{1} << 31}),
            int64_t{1} << 62);
}

TEST(ContiguousStrides, OfTheLastDimensionIsOne) {
  EXPECT_EQ(ContiguousStrides({2, 3, 4}), (Shape{12, 4, 1}));
  EXPECT_EQ(ContiguousStrides({5}), (Shape{1}));
  EXPECT_EQ(ContiguousStrides({}), (Shape{}));
}

}  // namespace
}  // namespace softlookup
