#include "experiments/layer_cost/traced.h"

#include <cmath>

#include "gtest/gtest.h"

namespace softlookup {
namespace {

TEST(Traced, CountsEveryOperationOnce) {
  Trace trace;
  const Traced a(3, &trace);
  const Traced b(4, &trace);
  EXPECT_EQ((a * b).value(), 12);
  EXPECT_EQ((a / b).value(), 0.75);
  EXPECT_EQ(trace.multiplications, 2);
  EXPECT_EQ(trace.additions, 0);
  EXPECT_EQ((a + b).value(), 7);
  EXPECT_EQ((a - b).value(), -1);
  EXPECT_EQ(trace.multiplications, 2);
  EXPECT_EQ(trace.additions, 2);
  EXPECT_NEAR(Exp(a).value(), std::exp(3), 1e-13);
  EXPECT_NEAR(Tanh(b).value(), std::tanh(4), 1e-15);
  EXPECT_EQ(trace.elementary, 2);
  EXPECT_TRUE(b > a);
  EXPECT_FALSE(a > b);
  EXPECT_FALSE(a > a);
  EXPECT_EQ(trace.multiplications + trace.additions, 4);
}

TEST(Traced, AssignmentsCountToo) {
  Trace trace;
  Traced sum(0);
  sum += Traced(2, &trace);
  sum *= Traced(5, &trace);
  sum /= Traced(4, &trace);
  EXPECT_EQ(sum.value(), 2.5);
  EXPECT_EQ(trace.additions, 1);
  EXPECT_EQ(trace.multiplications, 2);
}

TEST(Traced, ConstantsAreCountedWhereTheyMeetATracedNumber) {
  Trace trace;
  EXPECT_EQ((Traced(2) * Traced(3)).value(), 6);
  EXPECT_EQ(trace.multiplications, 0);
  EXPECT_EQ((Traced(2) * Traced(3, &trace)).value(), 6);
  EXPECT_EQ((Traced(3, &trace) * 2.0).value(), 6);
  EXPECT_EQ(trace.multiplications, 2);
}

TEST(Traced, UpdatesAreTheLongestChainFromASource) {
  Trace trace;
  const Traced source(1, &trace, Traced::kSource);
  const Traced other(1, &trace);
  EXPECT_EQ(other.updates(), Traced::kUnreached);
  EXPECT_EQ(Update(other).updates(), Traced::kUnreached);
  EXPECT_EQ(source.updates(), 0);
  const Traced once = Update(source + other);
  EXPECT_EQ(once.updates(), 1);
  const Traced twice = Update(Exp(other * once));
  EXPECT_EQ(twice.updates(), 2);
  EXPECT_EQ((source + twice).updates(), 2);
  EXPECT_EQ((twice - once).updates(), 2);
  EXPECT_EQ(Update(7.5), 7.5);
}

TEST(Traced, TensorsKeepValuesAndPlaces) {
  Trace trace;
  const Tensor<double> values({2, 1}, {5, 6});
  const Tensor<Traced> sources = TracedTensor(values, &trace, Traced::kSource);
  EXPECT_EQ(sources(1, 0).value(), 6);
  EXPECT_EQ(sources(1, 0).updates(), 0);
  EXPECT_EQ(TracedTensor(values, &trace)(0, 0).updates(), Traced::kUnreached);
  EXPECT_EQ((sources(0, 0) * sources(1, 0)).value(), 30);
  EXPECT_EQ(trace.multiplications, 1);
}

TEST(WorkingMemory, CountsWhatLives) {
  WorkingMemory memory;
  {
    const Buffer<double> a(5, 0, memory);
    {
      const Buffer<double> b(7, 0, memory);
      EXPECT_EQ(memory.live(), 12);
    }
    const Buffer<double> c(2, 0, memory);
    EXPECT_EQ(memory.live(), 7);
  }
  EXPECT_EQ(memory.live(), 0);
  EXPECT_EQ(memory.peak(), 12);
}

}  // namespace
}  // namespace softlookup
