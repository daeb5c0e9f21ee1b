#include "model/trainer.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "attention/kernels/kernel_options.h"
#include "base/hash.h"
#include "base/random/random.h"
#include "base/tensor/tensor.h"
#include "base/thread_pool.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

struct Batch {
  Tensor<int32_t> tokens;
  std::vector<int32_t> targets;
};

// A task for a table: the next token is the token plus one.
Batch Successors(RandomStream& stream, int64_t batch, int64_t positions,
                 int32_t vocabulary) {
  Batch drawn = {Tensor<int32_t>({batch, positions}), {}};
  for (int64_t i = 0; i < drawn.tokens.size(); ++i) {
    drawn.tokens[i] = static_cast<int32_t>(
        stream.UniformInt(static_cast<uint32_t>(vocabulary)));
    drawn.targets.push_back((drawn.tokens[i] + 1) % vocabulary);
  }
  return drawn;
}

ModelConfig Small() {
  ModelConfig config;
  config.n_heads = config.n_key_value_heads = 2;
  config.d_model = 24;
  config.d_head = 12;
  config.d_mlp = 20;
  config.d_vocab = 11;
  config.n_ctx = 20;
  config.normalization_type = NormalizationType::kRms;
  return config;
}

TEST(Trainer, LearnsATable) {
  RandomStream stream(1, "trainer_test");
  Trainer trainer(Small(), {}, 1, {});
  double loss = 0;
  for (int n = 0; n < 200; ++n) {
    const Batch batch = Successors(stream, 4, 20, 11);
    const auto step = trainer.Step(batch.tokens, batch.targets, 1e-2);
    ASSERT_TRUE(step.ok()) << step.status();
    if (n == 0) {
      EXPECT_GT(step->loss, 1.5);
    }
    loss = step->loss;
  }
  EXPECT_LT(loss, 0.05);
}

uint64_t HashAfterTraining(const kernels::KernelOptions& execution) {
  RandomStream stream(2, "trainer_test");
  Trainer trainer(Small(), {}, 1, execution);
  for (int n = 0; n < 10; ++n) {
    const Batch batch = Successors(stream, 8, 17, 11);
    EXPECT_TRUE(trainer.Step(batch.tokens, batch.targets, 1e-2).ok());
  }
  BitHash hash;
  hash.Add<float>(trainer.weights());
  return hash.value();
}

TEST(Trainer, SameBitsOnEveryRun) {
  const uint64_t expected = HashAfterTraining({});
  for (const auto set : kernels::SupportedInstructionSets()) {
    for (const int threads : {1, 2, 3, 8}) {
      ThreadPool pool(threads);
      EXPECT_EQ(HashAfterTraining({set, &pool}), expected)
          << kernels::InstructionSetName(set) << ", " << threads << " threads";
    }
  }
}

TEST(Trainer, ALossThatIsNotFiniteStopsAndKeepsTheWeights) {
  RandomStream stream(3, "trainer_test");
  Trainer trainer(Small(), {}, 1, {});
  const Batch batch = Successors(stream, 2, 5, 11);
  // A rate that blows the weights up.
  ASSERT_TRUE(trainer.Step(batch.tokens, batch.targets, 1e38).ok());
  absl::Status status;
  for (int n = 0; n < 5 && status.ok(); ++n) {
    status = trainer.Step(batch.tokens, batch.targets, 1e38).status();
  }
  ASSERT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()),
              ::testing::HasSubstr("the weights are those before it"));
  const std::vector<float> weights = trainer.weights();
  EXPECT_FALSE(trainer.Step(batch.tokens, batch.targets, 1e-3).ok());
  EXPECT_EQ(weights, trainer.weights());
}

}  // namespace
}  // namespace softlookup
