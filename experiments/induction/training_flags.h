// The flags of every experiment that trains: how it runs and where it saves.
// They change no result, so they are no parameters.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(const TrainingSetup setup,
//                               TrainingSetup::FromFlags("induction"));
//   TrainOnRepeats(options, setup.run(), setup.files());
//
// Flags: --threads, --isa, --checkpoint, --checkpoint_interval, --resume,
// --save_model.
#ifndef SOFTLOOKUP_EXPERIMENTS_INDUCTION_TRAINING_FLAGS_H_
#define SOFTLOOKUP_EXPERIMENTS_INDUCTION_TRAINING_FLAGS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "attention/kernels/kernel_options.h"
#include "base/json.h"
#include "base/thread_pool.h"
#include "experiments/induction/repeat_training.h"

namespace softlookup {

class TrainingSetup {
 public:
  // Reads the flags and starts the threads. Without --checkpoint a run saves
  // itself beside its results, as NAME.training.safetensors. InvalidArgument,
  // naming the flag, for a value that is not allowed, an instruction set that
  // the processor lacks, and a place that takes no file.
  static absl::StatusOr<TrainingSetup> FromFlags(const std::string& experiment);

  kernels::KernelOptions run() const { return {instruction_set_, pool_.get()}; }
  const TrainingFiles& files() const { return files_; }
  // Where the trained model goes; empty: nowhere.
  const std::string& model_path() const { return model_path_; }
  // {"threads", "kernels"}, for a results file's provenance.
  Json Provenance() const;

 private:
  TrainingSetup() = default;

  kernels::InstructionSet instruction_set_ = kernels::InstructionSet::kPortable;
  std::unique_ptr<ThreadPool> pool_;
  TrainingFiles files_;
  std::string model_path_;
};

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_INDUCTION_TRAINING_FLAGS_H_
