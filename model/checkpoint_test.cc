#include "model/checkpoint.h"

#include <cstdlib>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/file.h"
#include "base/hash.h"
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
  config.n_layers = 1;
  config.n_heads = 2;
  config.n_key_value_heads = 1;
  config.d_model = 4;
  config.d_head = 3;
  config.d_mlp = 5;
  config.d_vocab = 6;
  config.n_ctx = 7;
  config.normalization_type = NormalizationType::kLn;
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

// Hashes as induction printed them when it wrote the files.
TEST(Checkpoint, Version1Loads) {
  ModelConfig learned;
  learned.n_layers = 3;
  learned.n_heads = 4;
  learned.n_key_value_heads = 2;
  learned.d_model = 5;
  learned.d_head = 1;
  learned.d_mlp = 7;
  learned.d_vocab = 8;
  learned.n_ctx = 12;
  learned.act_fn = ActivationFunction::kRelu;
  learned.positional_embedding_type = PositionalEmbeddingType::kStandard;
  ModelConfig rotary;
  rotary.n_key_value_heads = 1;
  rotary.d_model = 4;
  rotary.d_head = 2;
  rotary.d_mlp = 3;
  rotary.d_vocab = 6;
  rotary.n_ctx = 12;
  rotary.normalization_type = NormalizationType::kRms;
  rotary.final_norm = true;
  rotary.positional_embedding_type = PositionalEmbeddingType::kRotary;
  rotary.tied = true;
  ModelConfig alibi = rotary;
  alibi.n_layers = 3;
  alibi.n_heads = 1;
  alibi.d_mlp = 0;
  alibi.normalization_type = NormalizationType::kLn;
  alibi.positional_embedding_type = PositionalEmbeddingType::kAlibi;
  alibi.biases = true;
  alibi.tied = false;
  ModelConfig none = rotary;
  none.n_key_value_heads = 2;
  none.d_mlp = 0;
  none.normalization_type = NormalizationType::kNone;
  none.final_norm = false;
  none.positional_embedding_type = PositionalEmbeddingType::kNone;
  none.tied = false;
  none.smeared_keys = true;
  for (const auto& [name, config, weights_hash] :
       {std::tuple("learned", learned, 0x4bc12287123a620eu),
        std::tuple("rotary", rotary, 0x80e3a811f1042898u),
        std::tuple("alibi", alibi, 0xa571f8daddac3b88u),
        std::tuple("none", none, 0x6e81bdf31b11ffbdu)}) {
    const auto loaded = LoadModel(
        absl::StrCat("testdata/models_version_1/", name, ".safetensors"));
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ(loaded->config, config) << name;
    BitHash hash;
    hash.Add<float>(loaded->weights);
    EXPECT_EQ(hash.value(), weights_hash) << name;
    // What is written is of today, to the same model.
    const std::string path = Path("renamed.safetensors");
    ASSERT_TRUE(SaveModel(path, ParameterLayout(config), loaded->weights).ok());
    EXPECT_EQ(ReadSafetensors(path)->metadata.at("version"), "2");
    EXPECT_EQ(LoadModel(path)->config, config);
  }
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
  file_.metadata["version"] = "3";
  EXPECT_EQ(Error(),
            "written by a newer softlookup: version 3; allowed: up to 2");
  file_.metadata["version"] = "one";
  EXPECT_EQ(Error(), "version is \"one\"; allowed: 1 to 2");
  file_.metadata.erase("format");
  EXPECT_EQ(Error(), "no model of softlookup: its metadata do not say so");
}

TEST_F(CheckpointErrorTest, Configs) {
  file_.metadata["config"] = "{";
  EXPECT_THAT(Error(), HasSubstr("config"));
  ModelConfig config = Small();
  config.n_layers = 1 << 20;
  file_.metadata["config"] = ConfigToJson(config).dump();
  EXPECT_THAT(Error(), HasSubstr("parameters and the file"));
  config.n_layers = 0;
  file_.metadata["config"] = ConfigToJson(config).dump();
  EXPECT_EQ(Error(), "n_layers is 0; allowed: 1 to 2147483648");
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
