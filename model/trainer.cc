#include "model/trainer.h"

#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "model/engine.h"
#include "model/parameters.h"

namespace softlookup {

Trainer::Trainer(const ModelConfig& config, const AdamWOptions& options,
                 uint64_t seed, const kernels::KernelOptions& execution)
    : model_(config, Engine<float>(execution)),
      optimizer_(model_.layout(), options),
      weights_(model_.layout().size()),
      gradient_(model_.layout().size()) {
  InitializeParameters(model_.layout(), seed, absl::MakeSpan(weights_));
}

absl::StatusOr<TrainingStep> Trainer::Step(const Tensor<int32_t>& tokens,
                                           absl::Span<const int32_t> targets,
                                           double rate) {
  SOFTLOOKUP_RETURN_IF_ERROR(model_.Forward(weights_, tokens, activations_));
  SOFTLOOKUP_RETURN_IF_ERROR(CrossEntropyLoss<float>(
      model_.engine(), activations_.logits.view(), targets, loss_));
  TrainingStep step;
  step.loss = loss_.mean;
  if (!std::isfinite(loss_.mean)) {
    return absl::InternalError(
        absl::StrCat("the loss is ", loss_.mean, " at step ",
                     optimizer_.steps(), "; the weights are those before it"));
  }
  model_.Backward(weights_, tokens, activations_, loss_.d_logits.view(),
                  absl::MakeSpan(gradient_));
  step.gradient_norm = optimizer_.Step(
      rate, gradient_, absl::MakeSpan(weights_), model_.engine().execution());
  if (!std::isfinite(step.gradient_norm)) {
    return absl::InternalError(
        absl::StrCat("the gradient's norm is ", step.gradient_norm, " at step ",
                     optimizer_.steps(), "; the weights are those before it"));
  }
  return step;
}

absl::Status Trainer::Restore(int64_t steps, std::vector<float> weights,
                              std::vector<float> mean,
                              std::vector<float> square) {
  if (weights.size() != weights_.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "there are ", weights.size(), " weights; allowed: ", weights_.size()));
  }
  SOFTLOOKUP_RETURN_IF_ERROR(
      optimizer_.Restore(steps, std::move(mean), std::move(square)));
  weights_ = std::move(weights);
  return absl::OkStatus();
}

}  // namespace softlookup
