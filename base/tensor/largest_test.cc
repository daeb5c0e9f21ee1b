#include "base/tensor/largest.h"

#include <cmath>

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

}  // namespace
}  // namespace softlookup
