// Models and training runs as safetensors files.
//
// A model file holds the weights under TransformerLens's names and shapes and
// the config in its metadata. A training file holds a model and, beside it, all
// that going on needs: the optimiser's moments, the step, and where each random
// stream stands. Files are written at once or not at all, so that a run that is
// killed at any moment leaves the last good one.
//
// Files are of version 2. In version 1 the config had other names for the same
// fields and values; it is read, not written.
//
//   SOFTLOOKUP_RETURN_IF_ERROR(SaveModel(path, layout, weights));
//   SOFTLOOKUP_ASSIGN_OR_RETURN(const SavedModel model, LoadModel(path));
#ifndef SOFTLOOKUP_MODEL_CHECKPOINT_H_
#define SOFTLOOKUP_MODEL_CHECKPOINT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "model/config.h"
#include "model/parameters.h"

namespace softlookup {

struct SavedModel {
  ModelConfig config;
  std::vector<float> weights;  // flat, as ParameterLayout(config) has them
};

// `weights` are those of `layout`. The errors of WriteSafetensors.
absl::Status SaveModel(const std::string& path, const ParameterLayout& layout,
                       absl::Span<const float> weights);

// InvalidArgument, naming the file, for what SaveModel or SaveTraining has not
// written: not safetensors, another format or a newer version of it, a config
// that CheckConfig refuses, a tensor that is missing, unknown or of another
// shape or type. Also reads the model of a training file.
absl::StatusOr<SavedModel> LoadModel(const std::string& path);

struct SavedTraining {
  SavedModel model;
  // What the run was started with, for the one who resumes it to compare.
  std::string parameters;
  int64_t steps = 0;
  std::vector<float> mean;    // AdamW::mean, flat like the weights
  std::vector<float> square;  // AdamW::square
  std::map<std::string, uint64_t> streams;  // RandomStream::position by name
  std::string record;  // what was measured on the way, as the run has it
};

absl::Status SaveTraining(const std::string& path, const SavedTraining& saved);

// As LoadModel, and for a model file, which has no training state.
absl::StatusOr<SavedTraining> LoadTraining(const std::string& path);

}  // namespace softlookup

#endif  // SOFTLOOKUP_MODEL_CHECKPOINT_H_
