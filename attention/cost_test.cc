#include "attention/cost.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "attention/mask.h"
#include "base/random/random.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
constexpr LayerKind kKinds[] = {
    LayerKind::kRecurrent, LayerKind::kSelfAttention, LayerKind::kConvolution};

TEST(CountLayer, TableOfTheThreeLayers) {
  const LayerShape shape = {.positions = 7, .width = 10, .kernel = 3};
  const LayerCost recurrent = CountLayer(LayerKind::kRecurrent, shape).value();
  EXPECT_EQ(recurrent.table_operations, 700);
  EXPECT_EQ(recurrent.sequential_steps, 7);
  EXPECT_EQ(recurrent.parameters, 200);
  EXPECT_EQ(recurrent.mixing_flops, 1400);
  EXPECT_EQ(recurrent.projection_flops, 1400);
  const LayerCost attention =
      CountLayer(LayerKind::kSelfAttention, shape).value();
  EXPECT_EQ(attention.table_operations, 490);
  EXPECT_EQ(attention.sequential_steps, 1);
  EXPECT_EQ(attention.parameters, 400);
  EXPECT_EQ(attention.mixing_flops, 1960);
  EXPECT_EQ(attention.projection_flops, 5600);
  const LayerCost convolution =
      CountLayer(LayerKind::kConvolution, shape).value();
  EXPECT_EQ(convolution.table_operations, 2100);
  EXPECT_EQ(convolution.sequential_steps, 1);
  EXPECT_EQ(convolution.parameters, 300);
  EXPECT_EQ(convolution.mixing_flops, 4200);
  EXPECT_EQ(convolution.projection_flops, 0);
}

TEST(CountLayer, ATrainingSequenceOfTheChapter) {
  const LayerShape shape = {.positions = 10000, .width = 512};
  EXPECT_EQ(CountLayer(LayerKind::kRecurrent, shape)->sequential_steps, 10000);
  EXPECT_EQ(CountLayer(LayerKind::kSelfAttention, shape)->sequential_steps, 1);
}

TEST(AttentionToRecurrentRatio, ThePointsOfTheChapter) {
  EXPECT_NEAR(AttentionToRecurrentRatio(50, 512), 0.1, 0.05);
  EXPECT_EQ(AttentionToRecurrentRatio(50, 512), 50.0 / 512.0);
  EXPECT_EQ(AttentionToRecurrentRatio(32768, 4096), 8.0);
  EXPECT_EQ(AttentionToRecurrentRatio(512, 512), 1.0);
}

TEST(AttentionToRecurrentRatio, IsTheRatioOfTheTable) {
  for (const int64_t t : {1, 50, 512, 32768}) {
    for (const int64_t d : {1, 512, 4096}) {
      const LayerShape shape = {.positions = t, .width = d};
      const double attention = static_cast<double>(
          CountLayer(LayerKind::kSelfAttention, shape)->table_operations);
      const double recurrent = static_cast<double>(
          CountLayer(LayerKind::kRecurrent, shape)->table_operations);
      EXPECT_EQ(AttentionToRecurrentRatio(t, d), attention / recurrent);
    }
  }
}

TEST(MaximumPathLength, ByHand) {
  const auto length = [](LayerKind kind, int64_t t, int64_t k) {
    return MaximumPathLength(kind, {.positions = t, .width = 4, .kernel = k})
        .value();
  };
  EXPECT_EQ(length(LayerKind::kRecurrent, 10, 3).contiguous, 9);
  EXPECT_EQ(length(LayerKind::kRecurrent, 10, 3).dilated, 9);
  EXPECT_EQ(length(LayerKind::kSelfAttention, 10, 3).contiguous, 1);
  EXPECT_EQ(length(LayerKind::kSelfAttention, 10, 3).dilated, 1);
  EXPECT_EQ(length(LayerKind::kConvolution, 27, 3).contiguous, 13);
  EXPECT_EQ(length(LayerKind::kConvolution, 27, 3).dilated, 3);
  EXPECT_EQ(length(LayerKind::kConvolution, 28, 3).contiguous, 14);
  EXPECT_EQ(length(LayerKind::kConvolution, 28, 3).dilated, 4);
  EXPECT_EQ(length(LayerKind::kConvolution, 1, 2).contiguous, 0);
  EXPECT_EQ(length(LayerKind::kConvolution, 1, 2).dilated, 0);
  EXPECT_EQ(length(LayerKind::kConvolution, kLargest, 2).dilated, 63);
}

// Whether the last of `positions` sees the first through causal convolutions
// with the given dilations.
bool Connects(int64_t positions, int64_t kernel,
              const std::vector<int64_t>& dilations) {
  std::vector<bool> reached(positions, false);
  reached[0] = true;
  for (const int64_t dilation : dilations) {
    std::vector<bool> next(positions, false);
    for (int64_t t = 0; t < positions; ++t) {
      for (int64_t tap = 0; tap < kernel && t >= tap * dilation; ++tap) {
        if (reached[t - tap * dilation]) next[t] = true;
      }
    }
    reached = next;
  }
  return reached[positions - 1];
}

TEST(MaximumPathLength, IsTheFewestConvolutionsThatConnect) {
  for (int64_t kernel = 2; kernel <= 5; ++kernel) {
    for (int64_t positions = 2; positions <= 40; ++positions) {
      const PathLength length =
          MaximumPathLength(LayerKind::kConvolution,
                            {.positions = positions, .kernel = kernel})
              .value();
      std::vector<int64_t> contiguous(length.contiguous, 1);
      EXPECT_TRUE(Connects(positions, kernel, contiguous));
      contiguous.pop_back();
      EXPECT_FALSE(Connects(positions, kernel, contiguous));
      std::vector<int64_t> dilated;
      for (int64_t dilation = 1;
           static_cast<int64_t>(dilated.size()) < length.dilated;
           dilation *= kernel) {
        dilated.push_back(dilation);
      }
      EXPECT_TRUE(Connects(positions, kernel, dilated));
      dilated.pop_back();
      EXPECT_FALSE(Connects(positions, kernel, dilated));
    }
  }
}

TEST(CountToken, ConstantStateAgainstGrowingCache) {
  const auto token = [](LayerKind kind, int64_t t) {
    return CountToken(kind, {.positions = t, .width = 10, .kernel = 4}).value();
  };
  for (const int64_t t : {1, 1000}) {
    EXPECT_EQ(token(LayerKind::kRecurrent, t).memory, 10);
    EXPECT_EQ(token(LayerKind::kRecurrent, t).mixing_flops, 200);
    EXPECT_EQ(token(LayerKind::kRecurrent, t).projection_flops, 200);
    EXPECT_EQ(token(LayerKind::kConvolution, t).memory, 30);
    EXPECT_EQ(token(LayerKind::kConvolution, t).mixing_flops, 800);
    EXPECT_EQ(token(LayerKind::kConvolution, t).projection_flops, 0);
    // A key and a value for each position; 2 t d for scores and 2 t d for
    // values.
    EXPECT_EQ(token(LayerKind::kSelfAttention, t).memory, 20 * t);
    EXPECT_EQ(token(LayerKind::kSelfAttention, t).mixing_flops, 40 * t);
    EXPECT_EQ(token(LayerKind::kSelfAttention, t).projection_flops, 800);
  }
}

TEST(CountMultiHead, TheHeadsOfTheChapter) {
  const MultiHeadCost cost =
      CountMultiHead({.positions = 1, .width = 4096, .heads = 32}).value();
  EXPECT_EQ(cost.head_width, 128);
  EXPECT_EQ(cost.parameters, int64_t{4} * 4096 * 4096);
  EXPECT_EQ(cost.projection_multiply_adds, int64_t{4096} * 4096);
  EXPECT_EQ(cost.projection_flops, int64_t{2} * 4096 * 4096);
  EXPECT_EQ(cost.four_projection_flops, int64_t{8} * 4096 * 4096);
}

TEST(CountMultiHead, ByHand) {
  const MultiHeadCost cost =
      CountMultiHead({.positions = 5, .width = 6, .heads = 3}).value();
  EXPECT_EQ(cost.head_width, 2);
  EXPECT_EQ(cost.parameters, 144);
  EXPECT_EQ(cost.projection_multiply_adds, 36);
  EXPECT_EQ(cost.projection_flops, 72);
  EXPECT_EQ(cost.four_projection_flops, 288);
  EXPECT_EQ(cost.score_multiply_adds, 150);
  EXPECT_EQ(cost.score_elements, 25);
  EXPECT_EQ(cost.masked_elements, 10);
  EXPECT_EQ(cost.score_flops, 60);
  EXPECT_EQ(cost.value_flops, 60);
  EXPECT_EQ(cost.causal_mixing_flops, 360);
  EXPECT_EQ(cost.full_mixing_flops, 600);
}

// The counts, by counting: loops that do what the layer does, one increment
// for each multiply-add.
TEST(CountMultiHead, EqualsCountedLoopsOnDrawnShapes) {
  constexpr uint64_t kSeed = 71;
  RandomStream stream(kSeed, "cost_test");
  for (int n = 0; n < 1000; ++n) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", case " << n);
    const int64_t heads = 1 + stream.UniformInt(4);
    const int64_t width = heads * (1 + stream.UniformInt(4));
    const int64_t positions = 1 + stream.UniformInt(8);
    const MultiHeadCost cost =
        CountMultiHead({.positions = positions, .width = width, .heads = heads})
            .value();
    AttentionMask causal;
    causal.causal = CausalAlignment::kTopLeft;
    const AttentionSizes sizes = {.batch = 1,
                                  .query_heads = heads,
                                  .key_heads = heads,
                                  .queries = positions,
                                  .keys = positions,
                                  .width = cost.head_width,
                                  .value_width = cost.head_width};
    int64_t projection = 0, full = 0, visible = 0, masked = 0, last = 0;
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t c = 0; c < cost.head_width; ++c) {
        for (int64_t a = 0; a < width; ++a) ++projection;
        for (int64_t i = 0; i < positions; ++i) {
          for (int64_t j = 0; j < positions; ++j) {
            const bool allowed = causal.Allows(0, h, i, j, sizes);
            ++full;
            visible += allowed;
            last += allowed && i == positions - 1;
            masked += !allowed && c == 0 && h == 0;
          }
        }
      }
    }
    ASSERT_EQ(cost.projection_multiply_adds, projection);
    ASSERT_EQ(cost.projection_flops, 2 * projection);
    ASSERT_EQ(cost.four_projection_flops, 8 * projection);
    ASSERT_EQ(cost.parameters, 4 * projection);
    ASSERT_EQ(cost.score_multiply_adds, full);
    ASSERT_EQ(cost.score_elements, positions * positions);
    ASSERT_EQ(cost.masked_elements, masked);
    // A multiply-add is two operations, and values are mixed by as many as
    // score.
    ASSERT_EQ(cost.score_flops, 2 * last);
    ASSERT_EQ(cost.value_flops, 2 * last);
    ASSERT_EQ(cost.causal_mixing_flops, 4 * visible);
    ASSERT_EQ(cost.full_mixing_flops, 4 * full);
    // Tokens one by one add up to the sequence, whatever the heads.
    int64_t tokens = 0;
    for (int64_t t = 1; t <= positions; ++t) {
      tokens += CountToken(LayerKind::kSelfAttention,
                           {.positions = t, .width = width})
                    ->mixing_flops;
    }
    ASSERT_EQ(cost.causal_mixing_flops, tokens);
    const LayerCost layer = CountLayer(LayerKind::kSelfAttention,
                                       {.positions = positions, .width = width})
                                .value();
    ASSERT_EQ(cost.full_mixing_flops, layer.mixing_flops);
    ASSERT_EQ(cost.parameters, layer.parameters);
    ASSERT_EQ(cost.four_projection_flops * positions, layer.projection_flops);
    ASSERT_EQ(cost.score_multiply_adds, layer.table_operations);
  }
}

void ExpectError(const absl::Status& status, absl::StatusCode code,
                 const std::string& message) {
  EXPECT_EQ(status.code(), code);
  EXPECT_EQ(status.message(), message);
}

TEST(CostErrors, NameTheSizeBelowOne) {
  const auto invalid = absl::StatusCode::kInvalidArgument;
  for (const LayerKind kind : kKinds) {
    const LayerShape no_positions = {.positions = 0};
    const LayerShape no_width = {.width = -1};
    const std::string positions = "positions is 0; allowed: at least 1";
    const std::string width = "width is -1; allowed: at least 1";
    ExpectError(CountLayer(kind, no_positions).status(), invalid, positions);
    ExpectError(CountLayer(kind, no_width).status(), invalid, width);
    ExpectError(CountToken(kind, no_positions).status(), invalid, positions);
    ExpectError(CountToken(kind, no_width).status(), invalid, width);
    ExpectError(MaximumPathLength(kind, no_positions).status(), invalid,
                positions);
    // Only a convolution looks at the kernel.
    const bool has_kernel = kind == LayerKind::kConvolution;
    EXPECT_EQ(CountLayer(kind, {.kernel = 0}).ok(), !has_kernel);
    EXPECT_EQ(MaximumPathLength(kind, {.kernel = 1}).ok(), !has_kernel);
    EXPECT_TRUE(CountLayer(kind, {.kernel = 1}).ok());
    EXPECT_TRUE(MaximumPathLength(kind, {.kernel = 2}).ok());
  }
  ExpectError(CountToken(LayerKind::kConvolution, {.kernel = 0}).status(),
              invalid, "kernel is 0; allowed: at least 1");
  ExpectError(
      MaximumPathLength(LayerKind::kConvolution, {.kernel = 1}).status(),
      invalid, "kernel is 1; allowed: at least 2");
  ExpectError(CountMultiHead({.positions = 0}).status(), invalid,
              "positions is 0; allowed: at least 1");
  ExpectError(CountMultiHead({.width = 0}).status(), invalid,
              "width is 0; allowed: at least 1");
  ExpectError(CountMultiHead({.heads = 0}).status(), invalid,
              "heads is 0; allowed: at least 1");
  ExpectError(CountMultiHead({.width = 6, .heads = 4}).status(), invalid,
              "heads is 4; allowed: a divisor of the width 6");
}

TEST(CostErrors, CountsThatDoNotFit) {
  const auto range = absl::StatusCode::kOutOfRange;
  const int64_t big = int64_t{1} << 31;
  const std::string message =
      "positions is 2147483648 and width 2147483648; allowed: sizes whose "
      "counts fit in 64 bits";
  const LayerShape shape = {.positions = big, .width = big};
  for (const LayerKind kind : kKinds) {
    ExpectError(CountLayer(kind, shape).status(), range, message);
  }
  ExpectError(CountMultiHead({.positions = big, .width = big}).status(), range,
              message);
  // 8 d^2 = 2^65 for a token, while 2 d^2 = 2^63 is just too large as well.
  ExpectError(CountToken(LayerKind::kSelfAttention, shape).status(), range,
              message);
  ExpectError(CountToken(LayerKind::kRecurrent, shape).status(), range,
              message);
  // The largest that fits: 2 d^2 = 2^61.
  EXPECT_EQ(CountToken(LayerKind::kRecurrent,
                       {.positions = big, .width = int64_t{1} << 30})
                ->mixing_flops,
            int64_t{1} << 61);
  // A factor that overflowed stays marked when a later one is harmless.
  EXPECT_EQ(
      CountLayer(LayerKind::kSelfAttention, {.positions = kLargest, .width = 1})
          .status()
          .code(),
      range);
  // Odd and even lengths, halved before multiplying.
  const int64_t half = int64_t{1} << 30;
  EXPECT_EQ(CountMultiHead({.positions = half})->masked_elements,
            half / 2 * (half - 1));
  EXPECT_EQ(CountMultiHead({.positions = half + 1})->masked_elements,
            half / 2 * (half + 1));
}

}  // namespace
}  // namespace softlookup
