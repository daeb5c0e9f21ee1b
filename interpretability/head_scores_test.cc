#include "interpretability/head_scores.h"

#include <complex>
#include <cstdint>
#include <vector>

#include "base/tensor/tensor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

using ::testing::ElementsAre;

// A beginning, then a block of n different tokens four times, as Olsson et al.
// evaluate.
std::vector<int32_t> Repeats(int32_t n) {
  std::vector<int32_t> tokens = {100};
  for (int copy = 0; copy < 4; ++copy) {
    for (int32_t token = 0; token < n; ++token) tokens.push_back(token);
  }
  return tokens;
}

// A head by rule: each query attends uniformly to the positions that are
// `offset` after earlier copies of its token, to the first where there are
// none.
Tensor<float> ByCopies(const std::vector<int32_t>& tokens, int64_t offset) {
  const auto n = static_cast<int64_t>(tokens.size());
  Tensor<float> pattern({n, n});
  for (int64_t i = 0; i < n; ++i) {
    std::vector<int64_t> seen;
    for (int64_t j = 0; j < i; ++j) {
      if (tokens[j] == tokens[i] && j + offset <= i) seen.push_back(j + offset);
    }
    if (seen.empty()) seen.push_back(0);
    for (const int64_t j : seen) {
      pattern(i, j) = 1.0f / static_cast<float>(seen.size());
    }
  }
  return pattern;
}

Tensor<float> ByDistance(int64_t n, int64_t distance) {
  Tensor<float> pattern({n, n});
  for (int64_t i = 0; i < n; ++i) {
    pattern(i, i < distance ? 0 : i - distance) = 1;
  }
  return pattern;
}

TEST(HeadScores, IdealHeadsAndTheirOffByOneMutants) {
  const std::vector<int32_t> tokens = Repeats(25);
  const auto n = static_cast<int64_t>(tokens.size());
  const Tensor<float> induction = ByCopies(tokens, 1);
  const Tensor<float> duplicate = ByCopies(tokens, 0);
  const Tensor<float> late = ByCopies(tokens, 2);
  const Tensor<float> previous = ByDistance(n, 1);
  // Weights of 1, 1/2 and 1/3, summed: 1 but for rounding.
  EXPECT_NEAR(PrefixMatchingScore(induction.view(), tokens), 1, 1e-7);
  EXPECT_NEAR(DuplicateTokenScore(duplicate.view(), tokens), 1, 1e-7);
  EXPECT_EQ(PreviousTokenScore(previous.view()), 1);
  // Each of the others by each detector: nothing.
  EXPECT_EQ(PrefixMatchingScore(duplicate.view(), tokens), 0);
  EXPECT_EQ(PrefixMatchingScore(late.view(), tokens), 0);
  EXPECT_EQ(PrefixMatchingScore(previous.view(), tokens), 0);
  EXPECT_EQ(DuplicateTokenScore(induction.view(), tokens), 0);
  EXPECT_EQ(DuplicateTokenScore(previous.view(), tokens), 0);
  // Query 1 has but the first position to fall back on.
  EXPECT_EQ(PreviousTokenScore(ByDistance(n, 2).view()),
            1.0 / static_cast<double>(n - 1));
}

// The stripe at the period's distance is an induction head's and also a purely
// positional one's: the scores cannot tell them apart on this data.
TEST(HeadScores, APositionalHeadPassesForInduction) {
  const std::vector<int32_t> tokens = Repeats(25);
  const auto n = static_cast<int64_t>(tokens.size());
  EXPECT_EQ(PrefixMatchingScore(ByDistance(n, 24).view(), tokens), 1);
  // With another period it does not.
  const std::vector<int32_t> other = Repeats(20);
  const auto m = static_cast<int64_t>(other.size());
  EXPECT_LT(PrefixMatchingScore(ByDistance(m, 24).view(), other), 0.05);
}

// Uniform attention over the i + 1 visible positions: sums of harmonic terms.
TEST(HeadScores, UniformAttention) {
  const std::vector<int32_t> tokens = {5, 6, 5, 6};
  Tensor<float> pattern({4, 4});
  for (int64_t i = 0; i < 4; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      pattern(i, j) = 1.0f / static_cast<float>(i + 1);
    }
  }
  // Queries 2 and 3 have one copy each.
  EXPECT_NEAR(PrefixMatchingScore(pattern.view(), tokens),
              (1.0 / 3 + 1.0 / 4) / 2, 1e-7);
  EXPECT_NEAR(DuplicateTokenScore(pattern.view(), tokens),
              (1.0 / 3 + 1.0 / 4) / 2, 1e-7);
  EXPECT_THAT(PreviousTokenByPosition(pattern.view()),
              ElementsAre(0.5, 1.0f / 3, 0.25));
  EXPECT_NEAR(PreviousTokenScore(pattern.view()),
              (1.0 / 2 + 1.0 / 3 + 1.0 / 4) / 3, 1e-7);
}

TEST(HeadScores, NothingToScore) {
  const Tensor<float> one({1, 1}, {1});
  EXPECT_EQ(PrefixMatchingScore(one.view(), {3}), 0);
  EXPECT_EQ(DuplicateTokenScore(one.view(), {3}), 0);
  EXPECT_EQ(PreviousTokenScore(one.view()), 0);
}

TEST(CopyingScore, IsOneForAHeadThatCopies) {
  // Three of four tokens in the sample; each attended to raises itself.
  const std::vector<int32_t> tokens = {0, 2, 3, 2};
  Tensor<double> raised({4, 4});
  for (int64_t t = 0; t < 4; ++t) raised(t, tokens[t]) = 5;
  EXPECT_EQ(CopyingScore(raised, tokens), 1);
  // Lowering itself raises nothing but the others.
  for (double& x : raised.elements()) x = -x;
  EXPECT_EQ(CopyingScore(raised, tokens), -1);
  // What all logits gain is nothing.
  EXPECT_EQ(
      CopyingScore(Tensor<double>({4, 4}, std::vector<double>(16, 2)), tokens),
      0);
}

TEST(CopyingScore, IsTheShareOfTheRaise) {
  // Less their means of 1 the rows are 2, 0, -1, -1 and 1, 3, -1, -3. In the
  // first, token 0 has 2 of 2; in the second, token 1 has 3 of 1 + 3.
  const Tensor<double> raised({2, 4}, {3, 1, 0, 0, 2, 4, 0, -2});
  const std::vector<int32_t> tokens = {0, 1};
  EXPECT_NEAR(CopyingScore(raised, tokens), 2 * (1 + 0.75) / 2 - 1, 1e-15);
}

TEST(EigenvalueCopyingScore, WeighsSignsByModulus) {
  using Complex = std::complex<double>;
  const std::vector<Complex> up = {2, 1, 0};
  EXPECT_EQ(EigenvalueCopyingScore(up), 1);
  const std::vector<Complex> down = {-2, -1};
  EXPECT_EQ(EigenvalueCopyingScore(down), -1);
  const std::vector<Complex> mixed = {Complex(3, 4), Complex(3, -4), -2};
  EXPECT_NEAR(EigenvalueCopyingScore(mixed), (3 + 3 - 2) / 12.0, 1e-15);
  EXPECT_EQ(EigenvalueCopyingScore({}), 0);
}

}  // namespace
}  // namespace softlookup
