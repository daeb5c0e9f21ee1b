#include "model/checkpoint.h"

#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/json.h"
#include "base/safetensors/safetensors.h"
#include "base/status.h"
#include "base/tensor/shape.h"
#include "base/tensor/stored_tensor.h"
#include "base/tensor/strided_view.h"
#include "base/tensor/tensor.h"

namespace softlookup {
namespace {

constexpr char kFormat[] = "softlookup model";
constexpr int kVersion = 2;
constexpr char kMean[] = "training.mean";
constexpr char kSquare[] = "training.square";

absl::Status Error(const std::string& path, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", what));
}

SafetensorsFile ModelFile(const ParameterLayout& layout,
                          absl::Span<const float> weights) {
  SafetensorsFile file;
  file.metadata["format"] = kFormat;
  file.metadata["version"] = absl::StrCat(kVersion);
  file.metadata["config"] = ConfigToJson(layout.config()).dump();
  for (const ParameterTensor& tensor : layout.tensors()) {
    file.tensors.push_back(
        StoreTensor(tensor.name, Copy(layout.View(tensor, weights.data()))));
  }
  return file;
}

// The value of a metadata entry, "" if there is none.
std::string Metadata(const SafetensorsFile& file, const std::string& name) {
  const auto found = file.metadata.find(name);
  return found == file.metadata.end() ? "" : found->second;
}

// A config of version 1 under the names of today.
Json RenameConfig(const Json& old) {
  static const auto& fields = *new std::map<std::string, std::string>{
      {"layers", "n_layers"},
      {"heads", "n_heads"},
      {"key_heads", "n_key_value_heads"},
      {"width", "d_model"},
      {"head_width", "d_head"},
      {"mlp_width", "d_mlp"},
      {"vocabulary", "d_vocab"},
      {"context", "n_ctx"},
      {"activation", "act_fn"},
      {"norm", "normalization_type"},
      {"positions", "positional_embedding_type"}};
  static const auto& values = *new std::map<Json, std::string>{
      {"rms", "RMS"}, {"layer", "LN"}, {"learned", "standard"}};
  if (!old.is_object()) return old;
  Json renamed = Json::object();
  for (const auto& [name, value] : old.items()) {
    const auto field = fields.find(name);
    const auto named = values.find(value);
    renamed[field == fields.end() ? name : field->second] =
        named == values.end() ? value : Json(named->second);
  }
  return renamed;
}

absl::StatusOr<ModelConfig> LoadConfig(const SafetensorsFile& file,
                                       const std::string& path) {
  if (Metadata(file, "format") != kFormat) {
    return Error(path, "no model of softlookup: its metadata do not say so");
  }
  const std::string version = Metadata(file, "version");
  int number;
  if (!absl::SimpleAtoi(version, &number) || number < 1) {
    return Error(path, absl::StrCat("version is \"", version,
                                    "\"; allowed: 1 to ", kVersion));
  }
  if (number > kVersion) {
    return Error(path, absl::StrCat("written by a newer softlookup: version ",
                                    number, "; allowed: up to ", kVersion));
  }
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const Json json,
      ParseJson(Metadata(file, "config"), absl::StrCat(path, ": config")));
  absl::StatusOr<ModelConfig> config =
      ConfigFromJson(number == 1 ? RenameConfig(json) : json);
  if (!config.ok()) return Error(path, config.status().message());
  return config;
}

absl::StatusOr<Tensor<float>> LoadFloats(const SafetensorsFile& file,
                                         const std::string& path,
                                         const std::string& name,
                                         const Shape& shape) {
  const StoredTensor* stored = file.Find(name);
  if (stored == nullptr) {
    return Error(path, absl::StrCat("no tensor \"", name, "\""));
  }
  if (stored->dtype != Dtype::kF32) {
    return Error(path,
                 absl::StrCat("tensor \"", name, "\" has dtype ",
                              DtypeName(stored->dtype), "; allowed: F32"));
  }
  if (stored->shape != shape) {
    return Error(path, absl::StrCat("tensor \"", name, "\" has shape ",
                                    ShapeString(stored->shape),
                                    "; allowed: ", ShapeString(shape)));
  }
  return LoadTensor<float>(*stored);
}

absl::StatusOr<SavedModel> ModelOf(const SafetensorsFile& file,
                                   const std::string& path) {
  SavedModel model;
  SOFTLOOKUP_ASSIGN_OR_RETURN(model.config, LoadConfig(file, path));
  // As many elements as the file has, before memory is taken for a config that
  // claims to be large.
  int64_t stored = 0;
  for (const StoredTensor& tensor : file.tensors) {
    stored += static_cast<int64_t>(tensor.bytes.size() / sizeof(float));
  }
  if (ParameterCount(model.config) > stored) {
    return Error(path, absl::StrCat("config has ", ParameterCount(model.config),
                                    " parameters and the file ", stored));
  }
  const ParameterLayout layout(model.config);
  for (const StoredTensor& tensor : file.tensors) {
    if (tensor.name != kMean && tensor.name != kSquare &&
        layout.Find(tensor.name) == nullptr) {
      return Error(path,
                   absl::StrCat("unknown tensor ", QuotedName(tensor.name)));
    }
  }
  model.weights.resize(layout.size());
  for (const ParameterTensor& tensor : layout.tensors()) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        const Tensor<float> loaded,
        LoadFloats(file, path, tensor.name, tensor.layout.shape));
    ForEachElement([](float& to, float from) { to = from; },
                   layout.View(tensor, model.weights.data()), loaded.view());
  }
  return model;
}

}  // namespace

absl::Status SaveModel(const std::string& path, const ParameterLayout& layout,
                       absl::Span<const float> weights) {
  return WriteSafetensors(path, ModelFile(layout, weights));
}

absl::StatusOr<SavedModel> LoadModel(const std::string& path) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const SafetensorsFile file,
                              ReadSafetensors(path));
  return ModelOf(file, path);
}

absl::Status SaveTraining(const std::string& path, const SavedTraining& saved) {
  const ParameterLayout layout(saved.model.config);
  SafetensorsFile file = ModelFile(layout, saved.model.weights);
  file.metadata["training_parameters"] = saved.parameters;
  file.metadata["training_record"] = saved.record;
  file.metadata["training_steps"] = absl::StrCat(saved.steps);
  for (const auto& [name, position] : saved.streams) {
    file.metadata[absl::StrCat("stream ", name)] = absl::StrCat(position);
  }
  const Shape flat = {layout.size()};
  file.tensors.push_back(StoreTensor(kMean, Tensor<float>(flat, saved.mean)));
  file.tensors.push_back(
      StoreTensor(kSquare, Tensor<float>(flat, saved.square)));
  return WriteSafetensors(path, file);
}

absl::StatusOr<SavedTraining> LoadTraining(const std::string& path) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const SafetensorsFile file,
                              ReadSafetensors(path));
  SavedTraining saved;
  SOFTLOOKUP_ASSIGN_OR_RETURN(saved.model, ModelOf(file, path));
  saved.parameters = Metadata(file, "training_parameters");
  saved.record = Metadata(file, "training_record");
  const std::string steps = Metadata(file, "training_steps");
  if (!absl::SimpleAtoi(steps, &saved.steps) || saved.steps < 0) {
    return Error(path, absl::StrCat("training_steps is \"", steps,
                                    "\"; needed: a training run's file"));
  }
  for (const auto& [key, value] : file.metadata) {
    absl::string_view name = key;
    if (!absl::ConsumePrefix(&name, "stream ")) continue;
    uint64_t position;
    if (!absl::SimpleAtoi(value, &position)) {
      return Error(
          path, absl::StrCat(key, " is \"", value, "\"; allowed: a position"));
    }
    saved.streams[std::string(name)] = position;
  }
  const Shape flat = {static_cast<int64_t>(saved.model.weights.size())};
  for (const auto& [name, moments] :
       {std::pair(kMean, &saved.mean), std::pair(kSquare, &saved.square)}) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(const Tensor<float> loaded,
                                LoadFloats(file, path, name, flat));
    *moments = loaded.elements();
  }
  return saved;
}

}  // namespace softlookup
