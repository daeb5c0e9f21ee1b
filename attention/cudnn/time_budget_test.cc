#include "attention/cudnn/time_budget.h"

#include "gtest/gtest.h"

namespace softlookup::cudnn {
namespace {

TEST(TimeBudgetTest, CountsFromWhereItBegan) {
  double now = 1000;
  const TimeBudget budget(200, [&now] { return now; });
  EXPECT_EQ(budget.Used(), 0);
  EXPECT_EQ(budget.Left(), 200);
  EXPECT_FALSE(budget.Past(0.5));
  now = 1099;
  EXPECT_EQ(budget.Used(), 99);
  EXPECT_EQ(budget.Left(), 101);
  EXPECT_FALSE(budget.Past(0.5));
  now = 1100;
  EXPECT_TRUE(budget.Past(0.5));
  EXPECT_FALSE(budget.Past(1));
  now = 1300;
  EXPECT_EQ(budget.Left(), 0);
  EXPECT_TRUE(budget.Past(1));
}

TEST(TimeBudgetTest, TakesTheClockByItself) {
  const TimeBudget budget(3600);
  EXPECT_GE(budget.Used(), 0);
  EXPECT_LE(budget.Left(), 3600);
  EXPECT_GT(budget.Left(), 3000);
  EXPECT_FALSE(budget.Past(1));
}

}  // namespace
}  // namespace softlookup::cudnn
