#include "base/tensor/deviation.h"

#include <cmath>

#include "base/tensor/tensor.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

TEST(Largest, KeepsTheLargest) {
  Largest largest;
  EXPECT_EQ(largest.value(), 0);
  largest.See(-1);
  EXPECT_EQ(largest.value(), 0);
  largest.See(3);
  largest.See(2);
  EXPECT_EQ(largest.value(), 3);
  largest.See(HUGE_VAL);
  EXPECT_EQ(largest.value(), HUGE_VAL);
}

TEST(Largest, OfNegativeNumbers) {
  Largest largest = Largest::OfAny();
  EXPECT_EQ(largest.value(), -HUGE_VAL);
  largest.See(-5);
  largest.See(-2);
  largest.See(-3);
  EXPECT_EQ(largest.value(), -2);
}

TEST(Largest, RemembersANaN) {
  Largest largest;
  largest.See(std::nan(""));
  EXPECT_TRUE(std::isnan(largest.value()));
  largest.See(7);
  EXPECT_TRUE(std::isnan(largest.value()));
}

TEST(Smallest, KeepsNaNWhereverItComes) {
  Smallest smallest;
  EXPECT_EQ(smallest.value(), HUGE_VAL);
  smallest.See(2);
  smallest.See(-3);
  smallest.See(1);
  EXPECT_EQ(smallest.value(), -3);
  smallest.See(std::nan(""));
  smallest.See(-7);
  EXPECT_TRUE(std::isnan(smallest.value()));
  Smallest zero;
  zero.See(0.0);
  EXPECT_FALSE(std::signbit(zero.value()));
}

TEST(LargerOrNaN, KeepsEitherNaN) {
  EXPECT_EQ(LargerOrNaN(1, 2), 2);
  EXPECT_EQ(LargerOrNaN(2, 1), 2);
  EXPECT_TRUE(std::isnan(LargerOrNaN(std::nan(""), 1)));
  EXPECT_TRUE(std::isnan(LargerOrNaN(1, std::nan(""))));
}

TEST(LargestMagnitude, LooksAtBothSigns) {
  EXPECT_EQ(LargestMagnitude(Tensor<double>({3}, {1, -3, 2})), 3);
  EXPECT_EQ(LargestMagnitude(Tensor<float>({2}, {4, -3})), 4);
}

TEST(LargestDifference, FindsTheWorstEntry) {
  const Tensor<double> a({3}, {1, 2, 3});
  EXPECT_EQ(LargestDifference(a, Tensor<double>({3}, {1, 4, 2.5})), 2);
  EXPECT_EQ(LargestDifference(a, Tensor<double>({3}, {4, 2, 3})), 3);
  EXPECT_EQ(LargestDifference(a, a), 0);
  EXPECT_EQ(LargestDifference({1.0, 2.0}, {4.0, 1.5}), 3);
  EXPECT_TRUE(std::isnan(LargestDifference({std::nan(""), 2.0}, {4.0, 1.5})));
}

TEST(LargestDifference, KeepsNaNWhereverItStands) {
  const Tensor<double> zero({3});
  for (int n = 0; n < 3; ++n) {
    Tensor<double> a({3}, {9, 9, 9});
    a[n] = std::nan("");
    EXPECT_TRUE(std::isnan(LargestDifference(a, zero))) << n;
    EXPECT_TRUE(std::isnan(LargestMagnitude(a))) << n;
    EXPECT_EQ(CountNaN(a), 1);
  }
  EXPECT_EQ(CountNaN(zero), 0);
}

}  // namespace
}  // namespace softlookup
