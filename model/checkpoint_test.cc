#include "model/checkpoint.h"

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/file.h"
#include "base/safetensors/safetensors.h"
#include "base/tensor/stored_tensor.h"
#include "base/tensor/tensor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

std::string Path(const std::string& name) {
  return absl::StrCat(::testing::TempDir(), "/", name);
}

ModelConfig Small() {
  ModelConfig config;
  config.layers = 1;
  config.heads = 2;
  config.key_heads = 1;
  config.width = 4;
  config.head_width = 3;
  config.mlp_width = 5;
  config.vocabulary = 6;
  config.context = 7;
  config.norm = Norm::kLayer;
  config.biases = true;
  return config;
}

// Every weight its own number.
SavedTraining Training() {
  SavedTraining saved;
  saved.model.config = Small();
  const int64_t count = ParameterCount(Small());
  for (int64_t i = 0; i < count; ++i) {
    saved.model.weights.push_back(static_cast<float>(i) + 0.5f);
    saved.mean.push_back(static_cast<float>(-i));
    saved.square.push_back(static_cast<float>(i) * 2);
  }
  saved.parameters = "{\"rate\": 0.003}";
  saved.steps = 1234;
  saved.streams = {{"data", 17}, {"evaluation", 18446744073709551615u}};
  return saved;
}

TEST(Checkpoint, AModelComesBack) {
  const SavedTraining saved = Training();
  const std::string path = Path("model.safetensors");
  ASSERT_TRUE(
      SaveModel(path, ParameterLayout(saved.model.config), saved.model.weights)
          .ok());
  const auto loaded = LoadModel(path);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->config, saved.model.config);
  EXPECT_EQ(loaded->weights, saved.model.weights);
  // Element [h, i, k] of W_Q where TransformerLens expects it.
  const auto file = ReadSafetensors(path);
  ASSERT_TRUE(file.ok());
  const ParameterLayout layout(saved.model.config);
  const ParameterTensor& tensor = *layout.Find("blocks.0.attn.W_Q");
  const Tensor<float> stored =
      LoadTensor<float>(*file->Find("blocks.0.attn.W_Q")).value();
  EXPECT_EQ(stored.shape(), Shape({2, 4, 3}));
  EXPECT_EQ(stored(1, 2, 0),
            layout.View(tensor, saved.model.weights.data())(1, 2, 0));
}

TEST(Checkpoint, ATrainingRunComesBack) {
  const SavedTraining saved = Training();
  const std::string path = Path("training.safetensors");
  ASSERT_TRUE(SaveTraining(path, saved).ok());
  const auto loaded = LoadTraining(path);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->model.config, saved.model.config);
  EXPECT_EQ(loaded->model.weights, saved.model.weights);
  EXPECT_EQ(loaded->mean, saved.mean);
  EXPECT_EQ(loaded->square, saved.square);
  EXPECT_EQ(loaded->steps, saved.steps);
  EXPECT_EQ(loaded->parameters, saved.parameters);
  EXPECT_EQ(loaded->streams, saved.streams);
  // And is a model too.
  EXPECT_EQ(LoadModel(path)->weights, saved.model.weights);
}

class CheckpointErrorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(SaveTraining(path_, Training()).ok());
    file_ = ReadSafetensors(path_).value();
  }

  // What loading the changed file says, without the path.
  std::string Error() {
    EXPECT_TRUE(WriteSafetensors(path_, file_).ok());
    const std::string message(LoadTraining(path_).status().message());
    EXPECT_EQ(message.substr(0, path_.size() + 2), path_ + ": ");
    return message.substr(path_.size() + 2);
  }

  StoredTensor& Tensor(const std::string& name) {
    return *const_cast<StoredTensor*>(file_.Find(name));
  }

  const std::string path_ = Path("damaged.safetensors");
  SafetensorsFile file_;
};

TEST_F(CheckpointErrorTest, ForeignAndNewerFiles) {
  file_.metadata["version"] = "2";
  EXPECT_EQ(Error(),
            "written by a newer softlookup: version 2; allowed: up to 1");
  file_.metadata["version"] = "one";
  EXPECT_EQ(Error(), "version is \"one\"; allowed: 1 to 1");
  file_.metadata.erase("format");
  EXPECT_EQ(Error(), "no model of softlookup: its metadata do not say so");
}

TEST_F(CheckpointErrorTest, Configs) {
  file_.metadata["config"] = "{";
  EXPECT_THAT(Error(), HasSubstr("config"));
  ModelConfig config = Small();
  config.layers = 1 << 20;
  file_.metadata["config"] = ConfigToJson(config).dump();
  EXPECT_THAT(Error(), HasSubstr("parameters and the file"));
  config.layers = 0;
  file_.metadata["config"] = ConfigToJson(config).dump();
  EXPECT_EQ(Error(), "layers is 0; allowed: 1 to 2147483648");
}

TEST_F(CheckpointErrorTest, Tensors) {
  Tensor("embed.W_E").name = "embed.W_F";
  EXPECT_EQ(Error(), "unknown tensor \"embed.W_F\"");
  Tensor("embed.W_F").name = "embed.W_E";
  Tensor("embed.W_E").shape = {4, 6};
  EXPECT_EQ(Error(), "tensor \"embed.W_E\" has shape [4, 6]; allowed: [6, 4]");
  Tensor("embed.W_E").shape = {6, 4};
  Tensor("embed.W_E").dtype = Dtype::kI32;
  EXPECT_EQ(Error(), "tensor \"embed.W_E\" has dtype I32; allowed: F32");
}

TEST_F(CheckpointErrorTest, ModelsWithoutTraining) {
  file_.metadata.erase("training_steps");
  EXPECT_EQ(Error(), "training_steps is \"\"; needed: a training run's file");
  file_.metadata["training_steps"] = "5";
  file_.metadata["stream data"] = "-1";
  EXPECT_EQ(Error(), "stream data is \"-1\"; allowed: a position");
}

TEST_F(CheckpointErrorTest, EveryTruncationIsRefused) {
  const std::string bytes = ReadFile(path_).value();
  for (size_t size = 0; size < bytes.size(); size += 97) {
    ASSERT_TRUE(WriteFileAtomically(path_, bytes.substr(0, size)).ok());
    EXPECT_FALSE(LoadTraining(path_).ok()) << size;
  }
}

TEST(Checkpoint, WhereNothingCanBeWritten) {
  EXPECT_THAT(
      std::string(SaveTraining(Path("no/folder"), Training()).message()),
      EndsWith("No such file or directory"));
}

}  // namespace
}  // namespace softlookup
