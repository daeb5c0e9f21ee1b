#include "experiments/layer_cost/blocked_attention.h"

#include <cmath>

#include "absl/types/span.h"
#include "base/random/random.h"
#include "experiments/layer_cost/sequence_layers.h"
#include "experiments/layer_cost/traced.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

Tensor<double> Gaussians(const Shape& shape, RandomStream& stream,
                         double factor = 1) {
  Tensor<double> tensor(shape);
  stream.FillGaussian(absl::MakeSpan(tensor.elements()));
  for (double& element : tensor.elements()) element *= factor;
  return tensor;
}

// Against SelfAttention, which is itself tested against the reference.
// Queries times 4 give near one-hot rows too. A weight passes at most 2 T
// roundings in sums, 3 per block in rescaling and a dozen more, on values
// below 6: 1e-13 for T <= 24 is ten times that.
TEST(BlockedAttention, SameOutputsForAnyBlock) {
  RandomStream stream(/*seed=*/41, "blocked attention test");
  for (int c = 0; c < 1000; ++c) {
    const int64_t positions = 1 + stream.UniformInt(24);
    const int64_t d = 1 + stream.UniformInt(4);
    const int64_t dv = 1 + stream.UniformInt(4);
    const int64_t block = 1 + stream.UniformInt(26);
    SCOPED_TRACE(testing::Message() << "seed 41, case " << c << ": T = "
                                    << positions << ", block " << block);
    const Tensor<double> q =
        Gaussians({positions, d}, stream, c % 2 == 0 ? 1 : 4);
    const Tensor<double> k = Gaussians({positions, d}, stream);
    const Tensor<double> v = Gaussians({positions, dv}, stream);
    WorkingMemory whole_memory;
    WorkingMemory blocked_memory;
    const Tensor<double> expected = SelfAttention(q, k, v, &whole_memory);
    const Tensor<double> blocked =
        BlockedAttention(q, k, v, block, blocked_memory);
    for (int64_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(blocked[i], expected[i], 1e-13);
    }
    EXPECT_EQ(whole_memory.peak(), positions * positions);
    const int64_t b = std::min(block, positions);
    EXPECT_EQ(blocked_memory.peak(), b * b + b * (2 + dv));
    EXPECT_EQ(whole_memory.live(), 0);
    EXPECT_EQ(blocked_memory.live(), 0);
  }
}

TEST(BlockedAttention, ScoresFarApartNeitherOverflowNorVanish) {
  // Scores 0, 1000, 2000: the last key takes all, the rescaling is exp(-1000).
  const Tensor<double> q({1, 1}, {1});
  const Tensor<double> k({3, 1}, {0, 1000, 2000});
  const Tensor<double> v({3, 1}, {1, 2, 3});
  WorkingMemory memory;
  EXPECT_EQ(BlockedAttention(q, k, v, 1, memory)[0], 3);
  const Tensor<double> falling({3, 1}, {2000, 1000, 0});
  EXPECT_EQ(BlockedAttention(q, falling, v, 1, memory)[0], 1);
}

TEST(BlockedAttention, Arithmetic) {
  RandomStream stream(/*seed=*/42, "blocked arithmetic test");
  constexpr int64_t kT = 12;
  constexpr int64_t kD = 3;
  constexpr int64_t kDv = 2;
  constexpr int64_t kBlock = 4;
  const Tensor<double> q = Gaussians({kT, kD}, stream);
  const Tensor<double> k = Gaussians({kT, kD}, stream);
  const Tensor<double> v = Gaussians({kT, kDv}, stream);
  WorkingMemory memory;
  Trace whole;
  SelfAttention(TracedTensor(q, &whole), TracedTensor(k, &whole),
                TracedTensor(v, &whole));
  // Scores, their scale, the division, the weighted sum.
  EXPECT_EQ(whole.multiplications, kT * kT * (kD + 1 + 1 + kDv));
  EXPECT_EQ(whole.elementary, kT * kT);
  Trace blocked;
  BlockedAttention(TracedTensor(q, &blocked), TracedTensor(k, &blocked),
                   TracedTensor(v, &blocked), kBlock, memory);
  // Scores, scale, weighted sum; the rescaling of each row for each of three
  // blocks; the division at the end.
  EXPECT_EQ(blocked.multiplications,
            kT * kT * (kD + 1 + kDv) + kT * 3 * (1 + kDv) + kT * kDv);
  EXPECT_EQ(blocked.elementary, kT * kT + kT * 3);
}

TEST(Blocks, MemoryShrinksAndArithmeticDoesNot) {
  const BlockResults found =
      MeasureBlocks(DrawBlockInputs({.positions = 24, .width = 3, .seed = 2}),
                    4)
          .value();
  EXPECT_EQ(found.whole.once.peak_memory, 24 * 24);
  EXPECT_EQ(found.whole.twice.peak_memory, 48 * 48);
  // Scores of a block, and maximum, sum and average of its queries.
  EXPECT_EQ(found.blocked.once.peak_memory, 4 * 4 + 4 * (2 + 3));
  EXPECT_EQ(found.whole.memory_growth, 4.0);
  EXPECT_EQ(found.blocked.memory_growth, 1.0);
  EXPECT_EQ(found.weights_deviation, 0);
  EXPECT_LT(found.deviation, (4 * 24 + 100) * 0x1p-53);
  EXPECT_EQ(found.whole.once.score_multiplications, 24 * 24 * 3);
  EXPECT_EQ(found.whole.once.multiplications, 24 * 24 * (3 + 1 + 1 + 3));
  EXPECT_EQ(found.whole.arithmetic_growth, 4.0);
  EXPECT_EQ(found.blocked.arithmetic_growth,
            1.0 * found.blocked.twice.multiplications /
                found.blocked.once.multiplications);
  EXPECT_GE(found.arithmetic_ratio, 1);
  // 4 of 24 keys for each query.
  EXPECT_DOUBLE_EQ(found.windowed_arithmetic_ratio, 4.0 / 24);
}

}  // namespace
}  // namespace softlookup
