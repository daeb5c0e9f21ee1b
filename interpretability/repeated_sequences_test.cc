#include "interpretability/repeated_sequences.h"

#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace softlookup {
namespace {

TEST(DrawRepeats, RepeatsWithItsPeriod) {
  RandomStream stream(1, "repeated_sequences_test");
  RepeatOptions options;
  options.batch = 200;
  std::set<int64_t> periods;
  for (const bool replacement : {false, true}) {
    options.replacement = replacement;
    const RepeatedSequences drawn = DrawRepeats(stream, options);
    bool twice = false;
    for (int64_t b = 0; b < options.batch; ++b) {
      const int64_t period = drawn.periods[b];
      periods.insert(period);
      std::set<int32_t> block;
      for (int64_t t = 0; t < options.positions; ++t) {
        const int32_t token = drawn.tokens(b, t);
        ASSERT_GE(token, 0);
        ASSERT_LT(token, 64);
        if (t < period) {
          twice = !block.insert(token).second || twice;
        } else {
          ASSERT_EQ(token, drawn.tokens(b, t - period));
        }
        const int32_t target = drawn.targets[b * options.positions + t];
        if (t + 1 < options.positions) {
          ASSERT_EQ(target, drawn.tokens(b, t + 1));
        }
        // What follows is what followed the same token one period before.
        if (drawn.Predictable(b, t)) {
          ASSERT_EQ(target, drawn.tokens(b, t + 1 - period));
        }
        ASSERT_EQ(drawn.Predictable(b, t), t >= period);
      }
    }
    EXPECT_EQ(twice, replacement);
  }
  // 400 draws of 25 periods miss one with a chance of 25 (24/25)^400, 2e-6.
  EXPECT_EQ(periods.size(), 25);
  EXPECT_EQ(*periods.begin(), 8);
  EXPECT_EQ(*periods.rbegin(), 32);
}

TEST(DrawDoubled, EveryTokenComesTwice) {
  RandomStream stream(3, "repeated_sequences_test");
  const RepeatedSequences drawn =
      DrawDoubled(stream, {.batch = 50, .positions = 7, .vocabulary = 20});
  int64_t chance = 0;
  for (int64_t b = 0; b < 50; ++b) {
    for (int64_t t = 0; t < 7; ++t) {
      const int32_t target = drawn.targets[b * 7 + t];
      if (t + 1 < 7) {
        ASSERT_EQ(target, drawn.tokens(b, t + 1));
      }
      ASSERT_EQ(drawn.Predictable(b, t), t % 2 == 0);
      if (t % 2 == 0) {
        ASSERT_EQ(target, drawn.tokens(b, t));
      } else {
        chance += target == drawn.tokens(b, t) ? 1 : 0;
      }
    }
  }
  // 150 independent draws of 20 tokens: 7.5 equal, 19 with a chance below 1e-4.
  EXPECT_LT(chance, 19);
}

TEST(CheckRepeats, NamesWhatCannotBe) {
  const auto error = [](auto change) {
    RepeatOptions options;
    change(options);
    return std::string(CheckRepeats(options).message());
  };
  EXPECT_EQ(error([](RepeatOptions&) {}), "");
  EXPECT_EQ(error([](RepeatOptions& o) { o.batch = 0; }),
            "batch is 0; allowed: 1 to 16777216");
  EXPECT_EQ(error([](RepeatOptions& o) { o.min_period = 33; }),
            "max_period is 32; allowed: min_period = 33 or more");
  EXPECT_EQ(error([](RepeatOptions& o) { o.max_period = 33; }),
            "max_period is 33; allowed: up to half of the 64 positions, so "
            "that a block comes twice");
  EXPECT_EQ(error([](RepeatOptions& o) { o.vocabulary = 31; }),
            "max_period is 32 without replacement; allowed: up to the "
            "vocabulary of 31");
  EXPECT_EQ(error([](RepeatOptions& o) {
              o.vocabulary = 31;
              o.replacement = true;
            }),
            "");
}

}  // namespace
}  // namespace softlookup
