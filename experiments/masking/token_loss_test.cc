#include "experiments/masking/token_loss.h"

#include <cmath>

#include "gtest/gtest.h"

namespace softlookup {
namespace {

TEST(CrossEntropy, ClosedForm) {
  // Logits log 1, log 3: probabilities 1/4 and 3/4.
  const Tensor<double> logits({2, 2}, {0, std::log(3.0), std::log(3.0), 0});
  const TokenLoss loss = CrossEntropy(logits, {1, 1}, kIgnoreIndex).value();
  EXPECT_EQ(loss.counted, 2);
  EXPECT_NEAR(loss.losses[0], std::log(4.0 / 3), 1e-15);
  EXPECT_NEAR(loss.losses[1], std::log(4.0), 1e-15);
  EXPECT_NEAR(loss.mean, std::log(16.0 / 3) / 2, 1e-15);
  EXPECT_NEAR(loss.logits_gradient(0, 0), 0.25 / 2, 1e-16);
  EXPECT_NEAR(loss.logits_gradient(0, 1), -0.25 / 2, 1e-16);
  EXPECT_NEAR(loss.logits_gradient(1, 1), -0.75 / 2, 1e-16);
}

TEST(CrossEntropy, IgnoredPositionsLeaveNoTrace) {
  const Tensor<double> two({2, 2}, {0, 1, 5, std::nan("")});
  const TokenLoss ignoring = CrossEntropy(two, {0, -7}, -7).value();
  const TokenLoss alone =
      CrossEntropy(Tensor<double>({1, 2}, {0, 1}), {0}, -7).value();
  EXPECT_EQ(ignoring.mean, alone.mean);
  EXPECT_EQ(ignoring.counted, 1);
  EXPECT_EQ(ignoring.losses[1], 0);
  EXPECT_EQ(ignoring.logits_gradient(0, 1), alone.logits_gradient(0, 1));
  EXPECT_EQ(ignoring.logits_gradient(1, 0), 0);
  EXPECT_EQ(ignoring.logits_gradient(1, 1), 0);
}

TEST(CrossEntropy, RefusesTargetsOutsideTheVocabulary) {
  const Tensor<double> logits({1, 2});
  EXPECT_TRUE(CrossEntropy(logits, {0}, -100).ok());
  EXPECT_TRUE(CrossEntropy(logits, {1}, -100).ok());
  EXPECT_EQ(CrossEntropy(logits, {2}, -100).status().message(),
            "targets[0] is 2; allowed: 0 to 1 or -100");
  EXPECT_EQ(CrossEntropy(logits, {-1}, -100).status().message(),
            "targets[0] is -1; allowed: 0 to 1 or -100");
  EXPECT_EQ(CrossEntropy(logits, {-100}, -100).status().message(),
            "every target is ignored; allowed: at least one that counts");
}

}  // namespace
}  // namespace softlookup
