// Training a transformer in float32: forward, loss, backward and one step of
// AdamW, with all memory kept from step to step.
//
//   Trainer trainer(config, {}, /*seed=*/1, {.pool = &pool});
//   for (...) {
//     SOFTLOOKUP_ASSIGN_OR_RETURN(const TrainingStep step,
//                                 trainer.Step(tokens, targets, 3e-3));
//   }
//
// The weights after any number of steps have the same bits on every
// instruction set and number of threads.
#ifndef SOFTLOOKUP_MODEL_TRAINER_H_
#define SOFTLOOKUP_MODEL_TRAINER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attention/kernels/kernel_options.h"
#include "base/tensor/tensor.h"
#include "model/adamw.h"
#include "model/config.h"
#include "model/loss.h"
#include "model/transformer.h"

namespace softlookup {

struct TrainingStep {
  double loss = 0;           // mean over the targets that count
  double gradient_norm = 0;  // before clipping
};

class Trainer {
 public:
  // `config` and `options` must pass their checks.
  Trainer(const ModelConfig& config, const AdamWOptions& options, uint64_t seed,
          const kernels::KernelOptions& execution);

  const Transformer<float>& model() const { return model_; }
  const std::vector<float>& weights() const { return weights_; }
  const AdamW& optimizer() const { return optimizer_; }

  // One step on tokens [B, T] and targets [B T] (kIgnored: no target).
  // InvalidArgument as Transformer::Forward and CrossEntropyLoss. Internal
  // where loss or gradient is not finite; the weights stay as they were.
  absl::StatusOr<TrainingStep> Step(const Tensor<int32_t>& tokens,
                                    absl::Span<const int32_t> targets,
                                    double rate);

  // Goes on from what a checkpoint kept. InvalidArgument for other sizes or a
  // negative number of steps.
  absl::Status Restore(int64_t steps, std::vector<float> weights,
                       std::vector<float> mean, std::vector<float> square);

 private:
  Transformer<float> model_;
  AdamW optimizer_;
  std::vector<float> weights_;
  std::vector<float> gradient_;
  TransformerActivations<float> activations_;
  CrossEntropy<float> loss_;
};

}  // namespace softlookup

#endif  // SOFTLOOKUP_MODEL_TRAINER_H_
