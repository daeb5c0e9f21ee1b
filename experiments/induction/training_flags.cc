#include "experiments/induction/training_flags.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <cstdint>
#include <utility>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "attention/kernels/kernel_options.h"
#include "base/file.h"
#include "base/status.h"
#include "experiments/frame/experiment.h"
#include "experiments/frame/experiment_parameters.h"

ABSL_FLAG(int64_t, threads, 0,
          "Threads; 0: one for each processor. The result is the same for any "
          "number.");
ABSL_FLAG(std::string, isa, "auto",
          "Instructions to run on: auto, portable, avx2, avx512. The result is "
          "the same on all.");
ABSL_FLAG(std::string, checkpoint, "",
          "File in which the training saves itself, to go on from after a "
          "stop; by default NAME.training.safetensors in --output. It is "
          "removed when the run has finished.");
ABSL_FLAG(int64_t, checkpoint_interval, 100, "Steps from save to save.");
ABSL_FLAG(bool, resume, false, "Go on from the checkpoint.");
ABSL_FLAG(std::string, save_model, "",
          "File for the trained model: safetensors, with TransformerLens's "
          "names and shapes.");

namespace softlookup {
namespace {

// Activations come and go by the megabyte; asking the system for them anew each
// time costs as much as filling them.
void KeepMemory() {
#ifdef __GLIBC__
  constexpr int kBytes = 1 << 28;
  mallopt(M_MMAP_THRESHOLD, kBytes);
  mallopt(M_TRIM_THRESHOLD, kBytes);
#endif
}

}  // namespace

absl::StatusOr<TrainingSetup> TrainingSetup::FromFlags(
    const std::string& experiment) {
  int64_t threads = absl::GetFlag(FLAGS_threads);
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckParameter("threads", threads, 0, kMaxThreads));
  if (threads == 0) threads = AvailableProcessors();
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckParameter("checkpoint_interval",
                     absl::GetFlag(FLAGS_checkpoint_interval), 1, 1000000));
  TrainingSetup setup;
  const std::string isa = absl::GetFlag(FLAGS_isa);
  const auto set = kernels::ParseInstructionSet(isa);
  if (!set.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--", set.status().message()));
  }
  setup.instruction_set_ = *set;
  setup.files_.interval = absl::GetFlag(FLAGS_checkpoint_interval);
  setup.files_.resume = absl::GetFlag(FLAGS_resume);
  const std::string checkpoint = absl::GetFlag(FLAGS_checkpoint);
  setup.files_.checkpoint =
      checkpoint.empty() ? absl::StrCat(OutputDirectory(), "/", experiment,
                                        ".training.safetensors")
                         : ResolveUserPath(checkpoint);
  SOFTLOOKUP_RETURN_IF_ERROR(CheckWritable(setup.files_.checkpoint));
  if (!absl::GetFlag(FLAGS_save_model).empty()) {
    setup.model_path_ = ResolveUserPath(absl::GetFlag(FLAGS_save_model));
    SOFTLOOKUP_RETURN_IF_ERROR(CheckWritable(setup.model_path_));
    if (setup.model_path_ == setup.files_.checkpoint) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--save_model and --checkpoint are both ", setup.model_path_));
    }
  }
  KeepMemory();
  setup.pool_ = std::make_unique<ThreadPool>(static_cast<int>(threads));
  return setup;
}

Json TrainingSetup::Provenance() const {
  return {{"threads", run().threads()},
          {"kernels", kernels::InstructionSetName(instruction_set_)}};
}

}  // namespace softlookup
