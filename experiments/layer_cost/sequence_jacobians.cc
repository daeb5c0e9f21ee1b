#include "experiments/layer_cost/sequence_jacobians.h"

#include <cmath>
#include <cstdint>
#include <utility>

#include "attention/attention.h"
#include "attention/reference/attention_reference.h"
#include "base/status.h"
#include "base/tensor/matrix_product.h"

namespace softlookup {
namespace {

using Matrix = Tensor<double>;

// A B^T.
Matrix TransposedProduct(const Matrix& a, const Matrix& b) {
  return MatrixProduct<double>(a.view(), b.view().Transpose(0, 1));
}

// Row i of every distance's Jacobian, from the gradients at all positions.
void SetRow(const Matrix& gradients, int64_t i,
            std::vector<Matrix>& jacobians) {
  const int64_t last = gradients.dim(0) - 1;
  for (int64_t n = 0; n <= last; ++n) {
    for (int64_t a = 0; a < gradients.dim(1); ++a) {
      jacobians[n](i, a) = gradients(last - n, a);
    }
  }
}

double Length(const Matrix& matrix) {
  double square = 0;
  for (const double element : matrix.elements()) square += element * element;
  return std::sqrt(square);
}

}  // namespace

std::vector<Matrix> RecurrentJacobians(const Matrix& tokens,
                                       const RecurrentWeights& weights,
                                       Nonlinearity f) {
  const int64_t d = tokens.dim(1);
  const Matrix states =
      RecurrentStates(weights.state, Project(tokens, weights.input),
                      std::vector<double>(d, 0.0), f);
  std::vector<Matrix> jacobians(tokens.dim(0), Matrix({d, d}));
  for (int64_t i = 0; i < d; ++i) {
    std::vector<double> selector(d, 0.0);
    selector[i] = 1;
    const Matrix d_input =
        RecurrentGradient(weights.state, states, selector, f);
    SetRow(TransposedProduct(d_input, weights.input), i, jacobians);
  }
  return jacobians;
}

absl::StatusOr<std::vector<Matrix>> AttentionJacobians(
    const Matrix& tokens, const HeadWeights& weights) {
  const int64_t positions = tokens.dim(0);
  const int64_t d = tokens.dim(1);
  const Matrix q = MatrixProduct<double>(
      tokens.view().Slice(0, positions - 1, positions), weights.query.view());
  const Matrix k = MatrixProduct<double>(tokens.view(), weights.key.view());
  const Matrix v = MatrixProduct<double>(tokens.view(), weights.value.view());
  AttentionInputs<double> inputs;
  inputs.query = {q.data(), {1, 1, 1, d}};
  inputs.key = {k.data(), {1, 1, positions, d}};
  inputs.value = {v.data(), {1, 1, positions, d}};
  std::vector<Matrix> jacobians(positions, Matrix({d, d}));
  for (int64_t i = 0; i < d; ++i) {
    Matrix selector({1, 1, 1, d});
    selector[i] = 1;
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        const AttentionGradients<double> gradients,
        reference::AttentionBackward<double>(inputs, {},
                                             std::as_const(selector).view()));
    const Matrix d_key({positions, d}, gradients.key.elements());
    const Matrix d_value({positions, d}, gradients.value.elements());
    Matrix d_token = TransposedProduct(d_key, weights.key);
    const Matrix through_value = TransposedProduct(d_value, weights.value);
    for (int64_t e = 0; e < d_token.size(); ++e) {
      d_token[e] += through_value[e];
    }
    SetRow(d_token, i, jacobians);
  }
  return jacobians;
}

double EffectiveDirections(const Matrix& jacobian) {
  // Scaled first: far positions have squares near the smallest doubles.
  const double length = Length(jacobian);
  Matrix scaled = jacobian;
  for (double& element : scaled.elements()) element /= length;
  const double gram = Length(TransposedProduct(scaled, scaled));
  return 1 / (gram * gram);
}

}  // namespace softlookup
