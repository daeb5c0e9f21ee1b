#include "attention/cudnn/check/speed.h"

#include <cstdint>
#include <set>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"

namespace softlookup::cudnn {
namespace {

// Worked out by hand: forward, B = 1, H = 64, T = 16384, D = 128 is
// 2 products * 2 * 64 * 2^28 * 2^7 = 2^43.
TEST(SpeedCaseTest, CountsOperations) {
  SpeedCase speed_case = {.width = 128, .length = 16384};
  EXPECT_EQ(speed_case.Operations(), 8796093022208.0);  // 2^43
  speed_case.causal = true;
  EXPECT_EQ(speed_case.Operations(), 4398046511104.0);
  speed_case.backward = true;
  EXPECT_EQ(speed_case.Operations(), 10995116277760.0);  // 2.5 times that
  // 8 * 64 * 2^20 * 64 * 4
  EXPECT_EQ((SpeedCase{.width = 64, .length = 1024}).Operations(),
            137438953472.0);
}

TEST(SpeedCaseTest, FillsTheCardWithBatches) {
  EXPECT_EQ((SpeedCase{.length = 1024}).Batch(), 8);
  EXPECT_EQ((SpeedCase{.length = 8192}).Batch(), 1);
  EXPECT_EQ((SpeedCase{.length = 16384}).Batch(), 1);
}

TEST(SpeedCaseTest, IsAProblemOfCudnn) {
  for (const SpeedCase& speed_case : SpeedCases(16384)) {
    const CudnnProblem problem = speed_case.Problem();
    EXPECT_TRUE(CheckCudnnProblem(problem).ok());
    EXPECT_EQ(problem.backward, speed_case.backward);
    EXPECT_EQ(problem.causal, speed_case.causal ? CausalAlignment::kTopLeft
                                                : CausalAlignment::kNone);
    EXPECT_EQ(problem.sizes.batch, speed_case.Batch());
    EXPECT_EQ(problem.sizes.query_heads, 64);
    EXPECT_EQ(problem.sizes.key_heads, 8);
    EXPECT_EQ(problem.sizes.queries, speed_case.length);
    EXPECT_EQ(problem.sizes.keys, speed_case.length);
    EXPECT_EQ(problem.sizes.width, speed_case.width);
  }
}

TEST(SpeedCasesTest, HasThemAll) {
  const std::vector<SpeedCase> cases = SpeedCases(16384);
  ASSERT_EQ(cases.size(), 2u * 5 * 2 * 2);
  std::set<std::tuple<int64_t, int64_t, bool, bool>> seen;
  for (const SpeedCase& c : cases) {
    seen.emplace(c.width, c.length, c.causal, c.backward);
  }
  EXPECT_EQ(seen.size(), cases.size());
  // Those with published speeds first.
  EXPECT_EQ(cases.front().width, 128);
  EXPECT_EQ(SpeedCases(2048).size(), 2u * 2 * 2 * 2);
}

}  // namespace
}  // namespace softlookup::cudnn
