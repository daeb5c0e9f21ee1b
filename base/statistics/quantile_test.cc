#include "base/statistics/quantile.h"

#include <vector>

#include "gtest/gtest.h"

namespace softlookup {
namespace {

TEST(Quantile, BetweenNeighbours) {
  const std::vector<double> draws = {30, 10, 20, 40};
  EXPECT_EQ(Quantile(draws, 0), 10);
  EXPECT_EQ(Quantile(draws, 1), 40);
  EXPECT_DOUBLE_EQ(Quantile(draws, 0.25), 17.5);
}

}  // namespace
}  // namespace softlookup
