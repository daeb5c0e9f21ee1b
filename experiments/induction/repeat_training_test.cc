#include "experiments/induction/repeat_training.h"

#include <pthread.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "attention/kernels/kernel_options.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/thread_pool.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/checkpoint.h"

namespace softlookup {
namespace {

using ::testing::HasSubstr;

RepeatTrainingOptions Small() {
  RepeatTrainingOptions options;
  options.model.d_model = 16;
  options.model.d_head = 8;
  options.model.d_vocab = 12;
  options.model.n_ctx = 20;
  options.data = {.batch = 4,
                  .positions = 20,
                  .vocabulary = 12,
                  .min_period = 3,
                  .max_period = 8};
  options.schedule = {
      .peak = 1e-2, .warmup = 5, .steps = 30, .shape = ScheduleShape::kCosine};
  options.curve_interval = 7;
  options.curve_sequences = 6;
  return options;
}

std::string Path(const std::string& name) {
  return testing::TempDir() + "/repeat_training_test_" + name;
}

std::string Text(const TrainedModel& trained) {
  return CurveJson(trained.curve).dump();
}

TEST(TrainOnRepeats, LearnsAndDrawsACurve) {
  RepeatTrainingOptions options = Small();
  options.schedule.steps = 300;
  options.curve_interval = 50;
  const auto trained = TrainOnRepeats(options, {}, {});
  ASSERT_TRUE(trained.ok()) << trained.status();
  ASSERT_EQ(trained->curve.size(), 7);
  EXPECT_EQ(trained->curve.front().step, 0);
  EXPECT_EQ(trained->curve.back().step, 300);
  EXPECT_LT(trained->curve.back().repeat_loss,
            trained->curve.front().repeat_loss - 0.3);
  EXPECT_EQ(trained->steps, 300);
  EXPECT_EQ(trained->curve[0].heads.size(), 2);
  EXPECT_EQ(trained->curve[0].loss.size(), 6);
}

TEST(TrainOnRepeats, SameBitsOnEveryRun) {
  const auto expected = TrainOnRepeats(Small(), {}, {});
  ASSERT_TRUE(expected.ok()) << expected.status();
  for (const auto set : kernels::SupportedInstructionSets()) {
    for (const int threads : {1, 3}) {
      ThreadPool pool(threads);
      const auto trained = TrainOnRepeats(Small(), {set, &pool}, {});
      ASSERT_TRUE(trained.ok()) << trained.status();
      EXPECT_EQ(trained->weights, expected->weights);
      EXPECT_EQ(Text(*trained), Text(*expected));
    }
  }
}

// The file at the end of a run holds all of it.
TEST(TrainOnRepeats, ResumesAtTheEnd) {
  const auto expected = TrainOnRepeats(Small(), {}, {});
  ASSERT_TRUE(expected.ok()) << expected.status();
  TrainingFiles files = {.checkpoint = Path("resume")};
  ASSERT_TRUE(TrainOnRepeats(Small(), {}, files).ok());
  const auto saved = LoadTraining(files.checkpoint);
  ASSERT_TRUE(saved.ok()) << saved.status();
  EXPECT_EQ(saved->steps, 30);
  EXPECT_EQ(saved->model.weights, expected->weights);
  files.resume = true;
  const auto resumed = TrainOnRepeats(Small(), {}, files);
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_EQ(resumed->weights, expected->weights);
  EXPECT_EQ(Text(*resumed), Text(*expected));
  EXPECT_EQ(resumed->steps, 0);
}

// A checkpoint of format version 1, to the hash of the weights that the program
// which wrote it printed when it was not stopped.
TEST(TrainOnRepeats, GoesOnFromVersion1) {
  RepeatTrainingOptions options;
  options.model = {
      .n_key_value_heads = 1,
      .d_model = 4,
      .d_head = 2,
      .d_mlp = 3,
      .d_vocab = 6,
      .n_ctx = 12,
      .act_fn = ActivationFunction::kRelu,
      .normalization_type = NormalizationType::kLn,
      .final_norm = true,
      .positional_embedding_type = PositionalEmbeddingType::kRotary,
      .biases = true};
  options.data = {.batch = 2,
                  .positions = 12,
                  .vocabulary = 6,
                  .min_period = 3,
                  .max_period = 6};
  options.schedule = {
      .warmup = 10, .steps = 1500, .shape = ScheduleShape::kCosine};
  options.seed = 2;
  options.curve_interval = 1500;
  options.curve_sequences = 2;
  const auto expected = TrainOnRepeats(options, {}, {});
  ASSERT_TRUE(expected.ok()) << expected.status();
  const std::string path = Path("version_1");
  ASSERT_TRUE(
      WriteFileAtomically(
          path,
          ReadFile("testdata/models_version_1/training.safetensors").value())
          .ok());
  const auto resumed =
      TrainOnRepeats(options, {}, {.checkpoint = path, .resume = true});
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_EQ(resumed->steps, 1350);
  EXPECT_EQ(resumed->weights, expected->weights);
  EXPECT_EQ(Text(*resumed), Text(*expected));
  BitHash hash;
  hash.Add<float>(resumed->weights);
  EXPECT_EQ(hash.value(), 0x22b2a44c5a80400eu);
}

// Asked to stop at some moment, a run finishes a step, saves, and says where;
// the next one goes on from there.
TEST(TrainOnRepeats, StopsWhenAskedAndGoesOn) {
  RepeatTrainingOptions options = Small();
  options.schedule.steps = 600;
  const auto expected = TrainOnRepeats(options, {}, {});
  ASSERT_TRUE(expected.ok()) << expected.status();
  const std::string path = Path("stopped");
  int stops = 0;
  // Of these one is while the run lasts, on any machine.
  for (const int milliseconds : {5, 10, 20, 40, 80, 160, 320, 640}) {
    // Before and after the run the signal does nothing.
    std::signal(SIGINT, SIG_IGN);
    const pthread_t runner = pthread_self();
    std::thread asker([=] {
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
      pthread_kill(runner, SIGINT);
    });
    const auto stopped =
        TrainOnRepeats(options, {}, {.checkpoint = path, .interval = 1000});
    asker.join();
    std::signal(SIGINT, SIG_DFL);
    if (stopped.ok()) continue;
    ASSERT_EQ(stopped.status().code(), absl::StatusCode::kCancelled)
        << stopped.status();
    EXPECT_THAT(std::string(stopped.status().message()),
                HasSubstr("saved to " + path));
    ++stops;
    const auto resumed =
        TrainOnRepeats(options, {}, {.checkpoint = path, .resume = true});
    ASSERT_TRUE(resumed.ok()) << resumed.status();
    EXPECT_EQ(resumed->weights, expected->weights);
    EXPECT_EQ(Text(*resumed), Text(*expected));
  }
  EXPECT_GE(stops, 1);
}

TEST(TrainOnRepeats, AnotherRunsCheckpointIsRefused) {
  const std::string path = Path("other");
  TrainingFiles files = {.checkpoint = path};
  ASSERT_TRUE(TrainOnRepeats(Small(), {}, files).ok());
  files.resume = true;
  const auto error = [&](auto change) {
    RepeatTrainingOptions options = Small();
    change(options);
    const auto trained = TrainOnRepeats(options, {}, files);
    EXPECT_EQ(trained.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(trained.status().message());
  };
  EXPECT_THAT(error([](RepeatTrainingOptions& o) { o.schedule.steps = 31; }),
              HasSubstr("another run's: steps is 30 there and 31 here"));
  EXPECT_THAT(error([](RepeatTrainingOptions& o) { o.model.n_layers = 3; }),
              HasSubstr("another run's: n_layers is 2 there and 3 here"));
  EXPECT_THAT(error([](RepeatTrainingOptions& o) { o.seed = 5; }),
              HasSubstr("another run's: seed is 1 there and 5 here"));
}

TEST(TrainOnRepeats, ACheckpointThatIsNoneIsRefused) {
  const std::string path = Path("corrupt");
  TrainingFiles files = {.checkpoint = path};
  ASSERT_TRUE(TrainOnRepeats(Small(), {}, files).ok());
  const std::string good = ReadFile(path).value();
  files.resume = true;
  for (const size_t size :
       {size_t{0}, size_t{7}, good.size() / 2, good.size() - 1}) {
    ASSERT_TRUE(WriteFileAtomically(path, good.substr(0, size)).ok());
    const auto trained = TrainOnRepeats(Small(), {}, files);
    EXPECT_EQ(trained.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(trained.status().message()), HasSubstr(path));
    // It is not touched.
    EXPECT_EQ(ReadFile(path).value().size(), size);
  }
  std::remove(path.c_str());
  EXPECT_EQ(TrainOnRepeats(Small(), {}, files).status().code(),
            absl::StatusCode::kNotFound);
}

// A rate that blows the model up: it says so, and the last save is from before.
TEST(TrainOnRepeats, ALossThatIsNotFiniteKeepsTheLastGoodCheckpoint) {
  RepeatTrainingOptions options = Small();
  options.schedule = {.peak = 1e37, .steps = 30};
  const std::string path = Path("infinite");
  std::remove(path.c_str());
  const auto trained =
      TrainOnRepeats(options, {}, {.checkpoint = path, .interval = 1});
  EXPECT_EQ(trained.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(trained.status().message()), HasSubstr("at step "));
  const auto saved = LoadTraining(path);
  ASSERT_TRUE(saved.ok()) << saved.status();
  EXPECT_LT(saved->steps, 30);
}

TEST(CheckRepeatTraining, NamesWhatDoesNotFit) {
  const auto error = [](auto change) {
    RepeatTrainingOptions options = Small();
    change(options);
    return std::string(CheckRepeatTraining(options).message());
  };
  EXPECT_EQ(error([](RepeatTrainingOptions&) {}), "");
  EXPECT_EQ(error([](RepeatTrainingOptions& o) { o.model.n_ctx = 19; }),
            "positions is 20; allowed: up to the model's n_ctx of 19");
  EXPECT_EQ(error([](RepeatTrainingOptions& o) { o.data.vocabulary = 11; }),
            "vocabulary is 11; allowed: the model's d_vocab, 12");
  EXPECT_EQ(error([](RepeatTrainingOptions& o) { o.data.max_period = 11; }),
            "max_period is 11; allowed: up to half of the 20 positions, so "
            "that a block comes twice");
  EXPECT_EQ(error([](RepeatTrainingOptions& o) { o.curve_interval = 0; }),
            "curve_interval is 0; allowed: 1 or more");
  EXPECT_EQ(error([](RepeatTrainingOptions& o) { o.schedule.warmup = 31; }),
            "warmup is 31; allowed: 0 to the 30 steps");
  EXPECT_EQ(error([](RepeatTrainingOptions& o) { o.optimizer.beta1 = 1; }),
            "beta1 is 1; allowed: 0 up to below 1");
}

}  // namespace
}  // namespace softlookup
