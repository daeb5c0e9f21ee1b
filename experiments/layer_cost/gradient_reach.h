// How much of the gradient is left after n positions.
//
// A recurrent net (tanh; and without it) with variance-preserving weights,
// W_h and W_x of variance 1 / d, and a head of attention with the same kind of
// projections read the same normalised tokens. For each distance n the
// Jacobian of the last output with respect to the token n positions before
// gives two numbers: its size (Frobenius norm), and how many directions it
// still carries (EffectiveDirections), from d (all alike) down to 1.
//
//   GradientResults found = MeasureGradients({.distance = 100}).value();
//   found.recurrent.survival          // over n, relative to n = 1
//
// Source: the chapter, section 1, on path length and teacher forcing.
#ifndef SOFTLOOKUP_EXPERIMENTS_LAYER_COST_GRADIENT_REACH_H_
#define SOFTLOOKUP_EXPERIMENTS_LAYER_COST_GRADIENT_REACH_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "base/random/random.h"
#include "base/statistics/estimate.h"
#include "base/tensor/tensor.h"
#include "experiments/layer_cost/sequence_layers.h"

namespace softlookup {

struct RecurrentWeights {
  Tensor<double> state;  // W_h, [d, d]
  Tensor<double> input;  // W_x, [d, d]
};

// The Jacobian of a layer's last output with respect to each token, [d, d]: row
// i is the gradient of component i of the output. Index n is the distance: 0 is
// the last token itself.
//
// Of h_T, from h_0 = 0, with h_t = f(h_{t-1} W_h + x_t W_x); tokens [T, d].
std::vector<Tensor<double>> RecurrentJacobians(const Tensor<double>& tokens,
                                               const RecurrentWeights& weights,
                                               Nonlinearity f);

// Of o_T, one head whose last query reads all keys and values, by the float64
// reference. At distance 0 only the token's part as a key and a value is
// counted, not the query's.
absl::StatusOr<std::vector<Tensor<double>>> AttentionJacobians(
    const Tensor<double>& tokens, const HeadWeights& weights);

// (tr G)^2 / tr G^2 with G = J J^T, of a matrix that is not zero: the number
// of its singular values, each counted by its share; n for n equal ones.
double EffectiveDirections(const Tensor<double>& jacobian);

struct GradientOptions {
  int64_t distance = 100;   // the largest n
  int64_t width = 32;       // d
  int64_t replicates = 20;  // at least 2
  uint64_t seed = 1;
};

// One draw of tokens and of every layer's weights.
struct GradientInputs {
  Tensor<double> tokens;  // [distance + 1, d], rows of mean square 1
  RecurrentWeights recurrent;
  HeadWeights head;
};

// The draw of replicate `index`.
GradientInputs DrawGradientInputs(const GradientOptions& options,
                                  int64_t index);

// The largest deviation, over distances, of the tanh net's gradient from the
// complex step along a random direction of one projected token, for a random
// gradient of the last state; relative to RecurrentGradientMagnitude.
double ComplexStepDeviation(const GradientInputs& inputs, RandomStream& stream);

// One layer, at distances 1 to [distance].
struct GradientSurvival {
  // Size relative to distance 1: geometric means over replicates, and their
  // intervals.
  std::vector<double> survival;
  std::vector<double> survival_low;
  std::vector<double> survival_high;
  std::vector<double> directions;  // means over replicates
  GeometricMean full_distance;     // the survival at the largest distance
  Estimate directions_kept;        // directions there over those at distance 1
};

struct GradientResults {
  std::vector<int64_t> distances;
  GradientSurvival recurrent;  // with tanh
  GradientSurvival linear;     // the same without
  GradientSurvival attention;
  double complex_step_deviation = 0;  // of the first replicate
};

// InvalidArgument as the reference gives it.
absl::StatusOr<GradientResults> MeasureGradients(
    const GradientOptions& options);

struct LoopOptions {
  int64_t width = 32;
  int64_t positions = 33;
  uint64_t seed = 1;
};

// What known inputs do not remove (teacher forcing).
struct LoopResults {
  // After a small change of the state in the middle, all inputs as they were:
  // relative change of the states after it, the smallest over the next 8
  // positions; and the same with W_h = 0.
  double smallest_later_change = 0;
  double without_loop = 0;
  // Whether T steps compose like a linear map of the inputs:
  // |F(a + b) - F(a) - F(b) + F(0)| / |F(a)| for the last state F, with tanh
  // and without.
  double superposition = 0;
  double linear_superposition = 0;
};

LoopResults MeasureLoop(const LoopOptions& options);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_LAYER_COST_GRADIENT_REACH_H_
