#include "model/step_operations.h"

#include "gtest/gtest.h"

namespace softlookup {
namespace {

// Counted by hand for a model of one layer, two query heads on one key head.
TEST(CountStepOperations, CountsEveryMatrixProduct) {
  ModelConfig config;
  config.n_layers = 1;
  config.n_heads = 2;
  config.n_key_value_heads = 1;
  config.d_model = 6;
  config.d_head = 4;
  config.d_mlp = 5;
  config.d_vocab = 7;
  // Two sequences of three tokens. Forward, multiply-adds:
  //   queries 6 x 6 x 8, keys and values 6 x 6 x 4 each, output 6 x 8 x 6
  //   MLP 6 x 6 x 5 twice, unembedding 6 x 6 x 7
  //   6 visible pairs in each of 2 sequences and 2 heads: 24, times 4, twice
  const double weights = 288 + 144 + 144 + 288 + 180 + 180 + 252;
  const double product = 24 * 4;
  const StepOperations count = CountStepOperations(config, 2, 3);
  EXPECT_EQ(count.forward, 2 * (weights + 2 * product));
  EXPECT_EQ(count.backward, 2 * (2 * weights + 5 * product));
}

TEST(CountStepOperations, GrowsWithTheSquareOfPositionsInAttentionOnly) {
  const ModelConfig config;
  const StepOperations one = CountStepOperations(config, 1, 64);
  const StepOperations twice = CountStepOperations(config, 1, 128);
  // Without attention it would double: the rest is pairs, 128 x 129 / 2 less
  // two times 64 x 65 / 2, in 2 layers with 2 heads of 32.
  const double extra = 128 * 129 / 2 - 64 * 65;
  EXPECT_EQ(twice.forward - 2 * one.forward, 2 * 2 * 2 * 2 * extra * 32);
}

}  // namespace
}  // namespace softlookup
