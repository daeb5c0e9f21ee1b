#include "base/interrupt.h"

#include <csignal>

#include "gtest/gtest.h"

namespace softlookup {
namespace {

TEST(InterruptRequest, ASignalOnlyAsks) {
  for (const int signal : {SIGINT, SIGTERM}) {
    InterruptRequest request;
    EXPECT_FALSE(request.Asked());
    raise(signal);
    EXPECT_TRUE(request.Asked());
  }
}

TEST(InterruptRequest, ANewOneHasNotBeenAsked) {
  {
    InterruptRequest request;
    raise(SIGINT);
  }
  EXPECT_FALSE(InterruptRequest().Asked());
}

TEST(InterruptRequestDeathTest, ASecondSignalEndsTheProgram) {
  EXPECT_EXIT(
      {
        InterruptRequest request;
        raise(SIGINT);
        raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
}

TEST(InterruptRequestDeathTest, AfterwardsASignalEndsTheProgram) {
  EXPECT_EXIT(
      {
        { InterruptRequest request; }
        raise(SIGTERM);
      },
      testing::KilledBySignal(SIGTERM), "");
}

}  // namespace
}  // namespace softlookup
