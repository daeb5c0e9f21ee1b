#include "model/loss.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/tensor/tensor.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

template <typename T>
class CrossEntropyTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(CrossEntropyTest, Types);

// Two classes: the loss is log(1 + exp(other - own)), a closed form.
TYPED_TEST(CrossEntropyTest, TwoClasses) {
  const Tensor<TypeParam> logits({3, 2}, {1, 3, -2, -2, 500, -500});
  const auto loss = CrossEntropyLoss<TypeParam>(Engine<TypeParam>(),
                                                logits.view(), {0, 1, 0});
  ASSERT_TRUE(loss.ok()) << loss.status();
  const double first = std::log1p(std::exp(2.0));
  const double second = std::log(2.0);
  EXPECT_NEAR(loss->per_token[0], first, 4e-7);
  EXPECT_NEAR(loss->per_token[1], second, 1e-7);
  EXPECT_EQ(loss->per_token[2], 0);
  EXPECT_NEAR(loss->mean, (first + second) / 3, 3e-7);
  EXPECT_EQ(loss->count, 3);
  // (p - one-hot) / 3
  const double p = 1 / (1 + std::exp(2.0));
  EXPECT_NEAR(loss->d_logits(0, 0), (p - 1) / 3, 1e-7);
  EXPECT_NEAR(loss->d_logits(0, 1), (1 - p) / 3, 1e-7);
  EXPECT_NEAR(loss->d_logits(1, 0), 0.5 / 3, 1e-7);
  EXPECT_EQ(loss->d_logits(2, 0), 0);
}

TYPED_TEST(CrossEntropyTest, IgnoredTargetsDoNotCount) {
  const Tensor<TypeParam> logits({2, 3}, {1, 2, 3, 0, 0, 0});
  const auto loss = CrossEntropyLoss<TypeParam>(Engine<TypeParam>(),
                                                logits.view(), {kIgnored, 2});
  ASSERT_TRUE(loss.ok()) << loss.status();
  EXPECT_NEAR(loss->mean, std::log(3.0), 1e-7);
  EXPECT_EQ(loss->count, 1);
  EXPECT_EQ(loss->per_token[0], 0);
  EXPECT_EQ(loss->d_logits(0, 2), 0);
  EXPECT_NEAR(loss->d_logits(1, 2), -2.0 / 3, 1e-7);
}

// Uniform logits over a vocabulary that is no multiple of anything.
TYPED_TEST(CrossEntropyTest, UniformIsTheLogarithmOfTheVocabulary) {
  for (const int64_t vocabulary : {1, 15, 16, 17, 100}) {
    const Tensor<TypeParam> logits({130, vocabulary});
    const auto loss = CrossEntropyLoss<TypeParam>(
        Engine<TypeParam>(), logits.view(), std::vector<int32_t>(130, 0));
    ASSERT_TRUE(loss.ok()) << loss.status();
    EXPECT_NEAR(loss->mean, std::log(static_cast<double>(vocabulary)), 4e-7);
  }
}

TEST(CrossEntropyLoss, BadTargets) {
  const Tensor<float> logits({2, 3});
  const auto error = [&](const std::vector<int32_t>& targets) {
    return std::string(
        CrossEntropyLoss<float>(Engine<float>(), logits.view(), targets)
            .status()
            .message());
  };
  EXPECT_EQ(error({0}), "there are 1 targets; allowed: 2");
  EXPECT_EQ(error({0, 3}),
            "target 3 at position 1; allowed: 0 to 2, or -1 to ignore it");
  EXPECT_EQ(error({0, -2}),
            "target -2 at position 1; allowed: 0 to 2, or -1 to ignore it");
  EXPECT_EQ(error({-1, -1}),
            "every target is ignored; allowed: at least one that counts");
}

}  // namespace
}  // namespace softlookup
