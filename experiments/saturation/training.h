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
//   TrainingResults training = MeasureTraining(options);
//   training.adam.unscaled.slowdown         // with its interval
//
// Source: the chapter, section 2, on what goes wrong without the scale.
#ifndef SOFTLOOKUP_EXPERIMENTS_SATURATION_TRAINING_H_
#define SOFTLOOKUP_EXPERIMENTS_SATURATION_TRAINING_H_

#include <cstdint>
#include <vector>

#include "base/statistics/estimate.h"
#include "experiments/saturation/retrieval_task.h"

namespace softlookup {

struct TrainingComparisonOptions {
  int64_t replicates = 0;  // at least 2
  int64_t steps = 0;       // of the recorded runs, and the limit of the search
  int64_t d_head = 0;      // d_k
  double descent_rate = 1;
  double adam_rate = 0.01;
  uint64_t seed = 1;
};

// A run that does not reach the accuracy counts with one step more than the
// limit: slowdowns are then lower bounds.
struct ModelRuns {
  std::vector<RetrievalScore> curve;  // means over replicates, [steps + 1]
  // [replicates], with the common rate and with the best of a grid of rates for
  // this model and replicate.
  std::vector<double> steps_to_accuracy;
  std::vector<double> steps_to_accuracy_at_best_rate;
  // Geometric means over replicates of these steps over those of the scaled
  // model.
  GeometricMean slowdown;
  GeometricMean best_rate_slowdown;
};

// One optimiser.
struct SpeedComparison {
  double rate = 0;  // the common one
  ModelRuns scaled;
  ModelRuns unscaled;
  ModelRuns unscaled_start;
  GeometricMean scaled_again =
      {};  // slowdown of a scaled model of other weights
};

// A model before the first step.
struct InitialModel {
  Estimate accuracy;
  Estimate query_weight_gradient;  // the length of dL/dW_Q
};

struct Sharpening {
  // Entropy in nats that the scaled model loses in training, with targets to
  // find and with random ones.
  Estimate entropy_lost_partner;
  Estimate entropy_lost_random;
  GeometricMean score_growth;  // of the spread of the scores, in training
  // The loss that the learned sharpness saves: the trained model with its
  // scores brought back to their initial spread against the trained model; and
  // the initial model against the same with its scores sharpened as much.
  Estimate benefit_trained;
  Estimate benefit_untrained;
};

struct TrainingResults {
  double accuracy_sought = 0;
  double chance = 0;  // 1 / keys
  SpeedComparison gradient_descent;
  SpeedComparison adam;
  InitialModel initial_scaled = {};
  InitialModel initial_unscaled = {};
  InitialModel initial_unscaled_start = {};
  // The unscaled model's first gradient over the scaled one's.
  GeometricMean query_weight_gradient_ratio = {};
  Sharpening sharpening = {};  // by gradient descent
};

TrainingResults MeasureTraining(const TrainingComparisonOptions& options);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_SATURATION_TRAINING_H_
