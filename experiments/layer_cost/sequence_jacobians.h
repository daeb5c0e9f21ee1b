// The Jacobian of a layer's last output with respect to each token.
//
//   std::vector<Tensor<double>> j =
//       RecurrentJacobians(tokens, weights, Nonlinearity::kTanh);
//   j[5]                           // with respect to the token 5 before
//   EffectiveDirections(j[5])      // how many directions it carries
//
// Each is [d, d]: row i is the gradient of component i of the output. Index n
// is the distance: 0 is the last token itself.
//
// Source: the chapter, section 1, on path length.
#ifndef SOFTLOOKUP_EXPERIMENTS_LAYER_COST_SEQUENCE_JACOBIANS_H_
#define SOFTLOOKUP_EXPERIMENTS_LAYER_COST_SEQUENCE_JACOBIANS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "base/tensor/tensor.h"
#include "experiments/layer_cost/sequence_layers.h"

namespace softlookup {

struct RecurrentWeights {
  Tensor<double> state;  // W_h, [d, d]
  Tensor<double> input;  // W_x, [d, d]
};

// Of h_T, from h_0 = 0, with h_t = f(h_{t-1} W_h + x_t W_x); tokens [T, d].
std::vector<Tensor<double>> RecurrentJacobians(const Tensor<double>& tokens,
                                               const RecurrentWeights& weights,
                                               Nonlinearity f);

struct HeadWeights {
  Tensor<double> query;  // W_Q, [d, d]
  Tensor<double> key;    // W_K
  Tensor<double> value;  // W_V
};

// Of o_T, one head whose last query reads all keys and values, by the float64
// reference. At distance 0 only the token's part as a key and a value is
// counted, not the query's.
absl::StatusOr<std::vector<Tensor<double>>> AttentionJacobians(
    const Tensor<double>& tokens, const HeadWeights& weights);

// (tr G)^2 / tr G^2 with G = J J^T, of a matrix that is not zero: the number
// of its singular values, each counted by its share; n for n equal ones.
double EffectiveDirections(const Tensor<double>& jacobian);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_LAYER_COST_SEQUENCE_JACOBIANS_H_
