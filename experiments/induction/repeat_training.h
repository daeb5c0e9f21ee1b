// Training a transformer on repeated sequences, with a curve of what it has
// learned, and files from which a run that was stopped goes on.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(
//       const TrainedModel trained,
//       TrainOnRepeats(options, {.pool = &pool}, {}));
//   Transformer<float> model(options.model);   // and trained.weights
//
// A run that was stopped and resumed, however often, ends with the same bits
// in weights and curve as one that was not.
#ifndef SOFTLOOKUP_EXPERIMENTS_INDUCTION_REPEAT_TRAINING_H_
#define SOFTLOOKUP_EXPERIMENTS_INDUCTION_REPEAT_TRAINING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "attention/kernels/kernel_options.h"
#include "base/json.h"
#include "interpretability/repeated_sequences.h"
#include "model/adamw.h"
#include "model/config.h"
#include "model/schedule.h"

namespace softlookup {

struct RepeatTrainingOptions {
  ModelConfig model;
  RepeatOptions data;    // of a step
  bool doubled = false;  // DrawDoubled instead of DrawRepeats
  AdamWOptions optimizer;
  RateSchedule schedule;
  uint64_t seed = 1;
  int64_t curve_interval = 25;  // steps from point to point of the curve
  int64_t curve_sequences = 64;
};

// One head at one moment, means over the curve's sequences (head_scores.h).
struct HeadPoint {
  double prefix_matching = 0;
  double previous_token = 0;
  double duplicate_token = 0;
};

// What the model does before step `step`, on the same sequences at every
// point: others than those it learns from, of the same kind.
struct CurvePoint {
  int64_t step = 0;
  std::vector<double> loss;  // per sequence, at all positions
  double first_loss = 0;     // means, see SequenceScores
  double repeat_loss = 0;
  double accuracy = 0;
  double in_context = 0;
  std::vector<std::vector<HeadPoint>> heads;  // [layer][head]
};

struct TrainedModel {
  std::vector<float> weights;
  std::vector<CurvePoint> curve;  // the last one after the last step
  double seconds = 0;             // of the steps alone, in this process
  int64_t steps = 0;              // that took those seconds
};

// Where a run saves itself.
struct TrainingFiles {
  std::string checkpoint;  // empty: nowhere
  int64_t interval = 100;  // steps from save to save
  bool resume = false;     // go on from the checkpoint
};

// InvalidArgument, naming what is wrong, for options that their own checks
// refuse and for a model that the data do not fit.
absl::Status CheckRepeatTraining(const RepeatTrainingOptions& options);

// Trains, with a progress line called `title`. The errors of
// CheckRepeatTraining and of reading and writing the checkpoint;
// InvalidArgument for one of other options, with what differs. Cancelled when
// Ctrl-C asked to stop, after the step, with where it saved. Internal, with the
// step, where loss or gradient is not finite: the checkpoint is the last good
// one.
absl::StatusOr<TrainedModel> TrainOnRepeats(
    const RepeatTrainingOptions& options, const kernels::KernelOptions& run,
    const TrainingFiles& files, const std::string& title = "step");

// The curve without the losses of single sequences, for results:
// [{"step", "first_loss", ..., "heads": [[{...}]]}].
Json CurveJson(const std::vector<CurvePoint>& curve);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_INDUCTION_REPEAT_TRAINING_H_
