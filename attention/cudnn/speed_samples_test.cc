#include "attention/cudnn/speed_samples.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace softlookup::cudnn {
namespace {

TEST(SampleInTurnTest, TakesTurnsAndKeepsAllButTheFirst) {
  std::string order;
  double now = 0;
  const auto samples = SampleInTurn(
      [&]() -> absl::StatusOr<double> {
        order += "o";
        return now += 1;
      },
      [&]() -> absl::StatusOr<double> {
        order += "t";
        return 10 * now;
      },
      3);
  ASSERT_TRUE(samples.ok()) << samples.status();
  EXPECT_EQ(order, "otototot");
  EXPECT_EQ(samples->ours, (std::vector<double>{2, 3, 4}));
  EXPECT_EQ(samples->theirs, (std::vector<double>{20, 30, 40}));
  EXPECT_TRUE(samples->theirs_status.ok());
}

TEST(SampleInTurnTest, OursGoesOnAlone) {
  int asked = 0;
  const auto samples =
      SampleInTurn([] { return 1.0; },
                   [&]() -> absl::StatusOr<double> {
                     if (++asked == 3) return absl::UnavailableError("it died");
                     return 1.0;
                   },
                   5);
  ASSERT_TRUE(samples.ok()) << samples.status();
  EXPECT_EQ(samples->ours.size(), 5u);
  // A case is compared in all rounds or in none.
  EXPECT_TRUE(samples->theirs.empty());
  EXPECT_EQ(samples->theirs_status, absl::UnavailableError("it died"));
  EXPECT_EQ(asked, 3);
}

TEST(SampleInTurnTest, OursAlone) {
  const auto samples = SampleInTurn([] { return 1.0; }, nullptr, 5);
  ASSERT_TRUE(samples.ok()) << samples.status();
  EXPECT_EQ(samples->ours.size(), 5u);
  EXPECT_TRUE(samples->theirs.empty());
  EXPECT_TRUE(samples->theirs_status.ok());
}

TEST(SampleInTurnTest, AnErrorOfOursIsOne) {
  EXPECT_EQ(SampleInTurn([] { return absl::InternalError("no kernel"); },
                         [] { return 1.0; }, 5)
                .status(),
            absl::InternalError("no kernel"));
}

TEST(CompareSpeedTest, IsTheirTimeOverOurs) {
  // Medians 2 and 3; ratios 1.5, 1, 3, 1.5 and 6, sorted 1, 1.5, 1.5, 3, 6.
  const SpeedRatio ratio =
      CompareSpeed({.ours = {2, 3, 1, 2, 2}, .theirs = {3, 3, 3, 3, 12}});
  EXPECT_DOUBLE_EQ(ratio.median, 1.5);
  EXPECT_DOUBLE_EQ(ratio.low, 1.5);
  EXPECT_DOUBLE_EQ(ratio.high, 3);
}

TEST(CompareSpeedTest, QuartilesLieBetweenRounds) {
  // Ratios 1, 2, 3, 4: a quarter of the way from 1 to 4 is 1.75.
  const SpeedRatio ratio =
      CompareSpeed({.ours = {1, 1, 1, 1}, .theirs = {4, 3, 2, 1}});
  EXPECT_DOUBLE_EQ(ratio.median, 2.5);
  EXPECT_DOUBLE_EQ(ratio.low, 1.75);
  EXPECT_DOUBLE_EQ(ratio.high, 3.25);
}

}  // namespace
}  // namespace softlookup::cudnn
