#include "attention/textbook/streaming_attention.h"

#include <cmath>
#include <utility>
#include <vector>

#include "attention/reference/attention_reference.h"
#include "base/random/random.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

struct Problem {
  Tensor<double> query, key, value;
  std::vector<int64_t> lengths;
  AttentionInputs<double> inputs() const {
    AttentionInputs<double> inputs;
    inputs.query = query.view();
    inputs.key = key.view();
    inputs.value = value.view();
    inputs.mask.key_lengths = lengths;
    return inputs;
  }
};

Problem Draw(RandomStream& stream, int64_t batch, int64_t heads,
             int64_t queries, int64_t keys, int64_t width) {
  Problem problem{Tensor<double>({batch, heads, queries, width}),
                  Tensor<double>({batch, heads, keys, width}),
                  Tensor<double>({batch, heads, keys, 3}),
                  {}};
  for (Tensor<double>* tensor :
       {&problem.query, &problem.key, &problem.value}) {
    stream.FillGaussian(absl::MakeSpan(tensor->elements()));
  }
  for (int64_t b = 0; b < batch; ++b) {
    problem.lengths.push_back(
        stream.UniformInt(static_cast<uint32_t>(keys + 1)));
  }
  return problem;
}

TEST(StreamingAttention, AgreesWithTheOracleOnDrawnShapes) {
  const uint64_t seed = 20260101;
  RandomStream stream(seed, "streaming attention test");
  for (int n = 0; n < 1000; ++n) {
    const auto draw = [&stream](uint32_t bound) {
      return static_cast<int64_t>(stream.UniformInt(bound)) + 1;
    };
    const Problem problem =
        Draw(stream, draw(2), draw(2), draw(7), draw(7), draw(5));
    AttentionInputs<double> inputs = problem.inputs();
    inputs.mask.causal = static_cast<CausalAlignment>(stream.UniformInt(3));
    const StreamingOptions options = {draw(8), draw(8)};
    const auto streamed = StreamingAttention(inputs, options);
    ASSERT_TRUE(streamed.ok()) << streamed.status();
    const auto expected = reference::AttentionForward(inputs, {});
    ASSERT_TRUE(expected.ok()) << expected.status();
    for (int64_t e = 0; e < expected->output.size(); ++e) {
      // Scores below 40, values below 6, 7 keys: see the derivation at
      // ErrorBound in masking_causal.h, 22 * 40 + 10 * 7 roundings.
      ASSERT_NEAR(streamed->output[e], expected->output[e], 6 * 950 * 0x1p-53)
          << "seed " << seed << ", case " << n << ", element " << e;
    }
  }
}

TEST(StreamingAttention, SkipsTheTilesAboveTheDiagonal) {
  RandomStream stream(1, "streaming attention test");
  Problem problem = Draw(stream, 1, 2, 6, 6, 4);
  problem.lengths = {6};
  AttentionInputs<double> inputs = problem.inputs();
  inputs.mask.causal = CausalAlignment::kTopLeft;
  // Single entries: exactly the upper triangle, in each of two heads.
  auto outputs = StreamingAttention(inputs, {1, 1}).value();
  EXPECT_EQ(outputs.scores_computed, 2 * 21);
  EXPECT_EQ(outputs.tiles_skipped, 2 * 15);
  EXPECT_EQ(outputs.tiles, 2 * 36);
  // Tiles of 2 by 3: rows 0-1 see tile 0; rows 2-3 and 4-5 see both.
  outputs = StreamingAttention(inputs, {2, 3}).value();
  EXPECT_EQ(outputs.tiles, 2 * 6);
  EXPECT_EQ(outputs.tiles_skipped, 2 * 1);
  EXPECT_EQ(outputs.scores_computed, 2 * 5 * 6);
  // Tiles that do not divide the size: the last are smaller.
  outputs = StreamingAttention(inputs, {4, 4}).value();
  EXPECT_EQ(outputs.tiles, 2 * 4);
  EXPECT_EQ(outputs.tiles_skipped, 2 * 1);
  EXPECT_EQ(outputs.scores_computed, 2 * (36 - 8));
}

TEST(StreamingAttention, RowWithoutKeysIsZeroAndLeaksNothing) {
  RandomStream stream(1, "streaming attention test");
  Problem problem = Draw(stream, 1, 1, 3, 3, 2);
  problem.lengths = {3};
  const std::vector<int64_t> starts = {1};
  problem.value(0, 0, 0, 0) = std::nan("");
  problem.key(0, 0, 0, 1) = std::nan("");
  AttentionInputs<double> inputs = problem.inputs();
  inputs.mask.causal = CausalAlignment::kTopLeft;
  inputs.mask.key_starts = starts;
  for (const int64_t tile : {1, 3}) {
    const auto outputs = StreamingAttention(inputs, {tile, tile}).value();
    for (int64_t c = 0; c < 3; ++c) {
      EXPECT_EQ(outputs.output(0, 0, 0, c), 0);
      EXPECT_EQ(outputs.output(0, 0, 1, c), problem.value(0, 0, 1, c));
      EXPECT_FALSE(std::isnan(outputs.output(0, 0, 2, c)));
    }
  }
}

TEST(StreamingAttention, RefusesWhatItDoesNotDo) {
  RandomStream stream(1, "streaming attention test");
  const Problem problem = Draw(stream, 1, 1, 2, 2, 2);
  AttentionInputs<double> inputs = problem.inputs();
  EXPECT_EQ(StreamingAttention(inputs, {0, 1}).status().message(),
            "tiles are 0 queries by 1 keys; allowed: at least 1 by 1");
  EXPECT_EQ(StreamingAttention(inputs, {1, 0}).status().message(),
            "tiles are 1 queries by 0 keys; allowed: at least 1 by 1");
  const Tensor<double> bias({1, 1, 1, 1});
  inputs.bias = bias.view();
  EXPECT_EQ(StreamingAttention(inputs, {1, 1}).status().message(),
            "bias is given; allowed: none in streaming attention");
}

TEST(StreamingErrorBound, CountsRoundings) {
  EXPECT_DOUBLE_EQ(StreamingErrorBound(2, 3, 5, 0.5), 1.01 * 76 * 0.5 * 5);
}

}  // namespace
}  // namespace softlookup
