// AdamW with decoupled weight decay and clipping by global norm, in one pass
// over the flat parameters (Kingma and Ba 2015; Loshchilov and Hutter 2019).
//
//   m = b1 m + (1 - b1) g        v = b2 v + (1 - b2) g^2
//   w = w - rate (m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + weight_decay
//   w)
//
//   AdamW optimizer(layout, options);
//   const double norm = optimizer.Step(rate, gradient, weights, execution);
#ifndef SOFTLOOKUP_MODEL_ADAMW_H_
#define SOFTLOOKUP_MODEL_ADAMW_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "attention/kernels/kernel_options.h"
#include "model/parameters.h"

namespace softlookup {

struct AdamWOptions {
  double beta1 = 0.9;
  double beta2 = 0.98;
  double epsilon = 1e-8;
  double weight_decay = 0.01;  // on tensors that decay (ParameterTensor)
  double clip = 1;             // the largest norm of the gradient; 0: no limit
};

// InvalidArgument, naming the option, for betas outside [0, 1), an epsilon that
// is not positive, and a weight_decay or clip that is negative or not finite.
absl::Status CheckAdamWOptions(const AdamWOptions& options);

class AdamW {
 public:
  // `options` must pass CheckAdamWOptions.
  AdamW(const ParameterLayout& layout, const AdamWOptions& options);

  // One step at the learning rate `rate`. Returns the gradient's norm before
  // clipping; where that is not finite nothing is changed.
  double Step(double rate, absl::Span<const float> gradient,
              absl::Span<float> parameters,
              const kernels::KernelOptions& execution);

  // The state that a checkpoint keeps.
  int64_t steps() const { return steps_; }
  absl::Span<const float> mean() const { return mean_; }      // m
  absl::Span<const float> square() const { return square_; }  // v
  // InvalidArgument for other sizes or a negative number of steps.
  absl::Status Restore(int64_t steps, std::vector<float> mean,
                       std::vector<float> square);

 private:
  AdamWOptions options_;
  std::vector<float> weight_decay_;  // per parameter: options.weight_decay or 0
  int64_t steps_ = 0;
  std::vector<float> mean_;
  std::vector<float> square_;
};

}  // namespace softlookup

#endif  // SOFTLOOKUP_MODEL_ADAMW_H_
