// The scale and the speed of learning, on the retrieval task.
//
// Three models with the same weights up to their size:
//   scaled           scores times 1 / sqrt(d_k), as in the Transformer
//   unscaled         scores as they are
//   unscaled_start   scores times 1 / sqrt(d_k), but W_Q and W_K enlarged by
//                    d_k^(1/4) each: it starts with the unscaled model's
//                    scores and differs from the scaled one in nothing but
//                    this start
// each trained by gradient descent and by Adam, on the same data in the same
// order, several times with other data and weights.
//
//   Json training = MeasureTraining(options).value();
//
// Source: the chapter, section 2, on what goes wrong without the scale.
#ifndef SOFTLOOKUP_EXPERIMENTS_SATURATION_TRAINING_H_
#define SOFTLOOKUP_EXPERIMENTS_SATURATION_TRAINING_H_

#include <cstdint>

#include "base/json.h"

namespace softlookup {

struct TrainingComparisonOptions {
  int64_t replicates = 0;  // at least 2
  int64_t steps = 0;       // of the recorded runs, and the limit of the search
  int64_t head_width = 0;  // d_k
  double descent_rate = 1;
  double adam_rate = 0.01;
  uint64_t seed = 1;
};

// {
//   "accuracy_sought": 0.9, "chance": 1 / keys,
//   "gradient_descent", "adam": {
//     "rate", model: {"curve": [means over replicates after each step],
//       "steps_to_accuracy": [per replicate]},
//     "slowdown": {model: geometric mean over replicates of its steps to the
//       accuracy over those of the scaled model with the same rate;
//       "scaled_again": a second scaled model, from other weights},
//     "best_rate_slowdown": {model: the same, with the best rate of a grid
//       for each model and replicate}},
//   "initial": {model: {"accuracy", "query_weight_gradient"}},
//   "query_weight_gradient_ratio": geometric mean of the unscaled model's
//     over the scaled one's,
//   "sharpening": {"partner", "random"}: entropy lost by the scaled model in
//     training, with targets to find and with random ones,
//   "benefit": {"trained", "untrained"}: the loss that the learned sharpness
//     saves: the trained model with its scores brought back to their initial
//     spread against the trained model, and the initial model against the
//     same with its scores sharpened as much
// }
// A run that does not reach the accuracy counts with one step more than the
// limit: slowdowns are then lower bounds.
Json MeasureTraining(const TrainingComparisonOptions& options);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_SATURATION_TRAINING_H_
