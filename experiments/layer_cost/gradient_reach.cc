#include "experiments/layer_cost/gradient_reach.h"

#include <cmath>
#include <complex>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "attention/attention.h"
#include "attention/reference/attention_reference.h"
#include "base/status.h"
#include "base/tensor/deviation.h"
#include "base/tensor/matrix.h"
#include "base/tensor/matrix_product.h"

namespace softlookup {
namespace {

using Complex = std::complex<double>;
using Matrix = Tensor<double>;

// Variance 1 / d: the projection of a normalised token has unit variance.
Matrix ProjectionWeights(int64_t width, RandomStream& stream) {
  return GaussianMatrix(stream, width, width,
                        1 / std::sqrt(static_cast<double>(width)));
}

// Rows of mean square 1.
Matrix NormalisedTokens(int64_t positions, int64_t width,
                        RandomStream& stream) {
  Matrix tokens = GaussianMatrix(stream, positions, width, 1);
  for (int64_t t = 0; t < positions; ++t) {
    double square = 0;
    for (int64_t i = 0; i < width; ++i) square += tokens(t, i) * tokens(t, i);
    const double root = std::sqrt(square / static_cast<double>(width));
    for (int64_t i = 0; i < width; ++i) tokens(t, i) /= root;
  }
  return tokens;
}

double SquaredLength(const std::vector<double>& vector) {
  double square = 0;
  for (const double element : vector) square += element * element;
  return square;
}

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

// The states from position t on as a function of one token, by complex step:
// d h_T / d x_t along `direction` of the projected input.
std::vector<double> ComplexStepDerivative(const GradientInputs& inputs,
                                          const Matrix& input,
                                          const Matrix& states, int64_t t,
                                          const Matrix& direction) {
  constexpr double kStep = 1e-50;
  const int64_t positions = input.dim(0);
  const int64_t d = input.dim(1);
  Tensor<Complex> weights({d, d});
  for (int64_t e = 0; e < weights.size(); ++e) {
    weights[e] = inputs.recurrent.state[e];
  }
  Tensor<Complex> ahead({positions - t, d});
  for (int64_t s = t; s < positions; ++s) {
    for (int64_t i = 0; i < d; ++i) {
      ahead(s - t, i) = Complex(input(s, i), s == t ? kStep * direction[i] : 0);
    }
  }
  std::vector<Complex> before(d, 0);
  for (int64_t i = 0; t > 0 && i < d; ++i) before[i] = states(t - 1, i);
  const Tensor<Complex> later =
      RecurrentStates(weights, ahead, before, Nonlinearity::kTanh);
  std::vector<double> derivative;
  for (int64_t i = 0; i < d; ++i) {
    derivative.push_back(later(positions - t - 1, i).imag() / kStep);
  }
  return derivative;
}

// Per distance, one number per replicate.
struct Survival {
  explicit Survival(int64_t distance)
      : relative_size(distance + 1), directions(distance + 1) {}

  void Add(const std::vector<Matrix>& jacobians) {
    const double reference = SquaredLength(jacobians[1].elements());
    for (size_t n = 1; n < jacobians.size(); ++n) {
      relative_size[n].push_back(
          std::sqrt(SquaredLength(jacobians[n].elements()) / reference));
      directions[n].push_back(EffectiveDirections(jacobians[n]));
    }
  }

  GradientSurvival Summary() const {
    GradientSurvival summary;
    for (size_t n = 1; n < relative_size.size(); ++n) {
      const GeometricMean mean = GeometricMeanEstimate(relative_size[n]);
      summary.survival.push_back(mean.value);
      summary.survival_low.push_back(mean.low);
      summary.survival_high.push_back(mean.high);
      summary.directions.push_back(Mean(directions[n]));
    }
    summary.full_distance = GeometricMeanEstimate(relative_size.back());
    std::vector<double> kept;
    for (size_t r = 0; r < directions[1].size(); ++r) {
      kept.push_back(directions.back()[r] / directions[1][r]);
    }
    summary.directions_kept = MeanEstimate(kept);
    return summary;
  }

  std::vector<std::vector<double>> relative_size;
  std::vector<std::vector<double>> directions;
};

double RelativeChange(const Matrix& before, const Matrix& after, int64_t t) {
  double change = 0;
  for (int64_t i = 0; i < before.dim(1); ++i) {
    change += (after(t, i) - before(t, i)) * (after(t, i) - before(t, i));
  }
  return std::sqrt(change / SquaredLength(RowCopy(before, t)));
}

double SmallestLaterChange(const Matrix& weights, const Matrix& input) {
  constexpr int64_t kLater = 8;
  constexpr double kChange = 1e-3;
  const int64_t width = weights.dim(0);
  const int64_t middle = input.dim(0) / 2;
  const Matrix states = RecurrentStates(
      weights, input, std::vector<double>(width, 0.0), Nonlinearity::kTanh);
  std::vector<double> changed = RowCopy(states, middle);
  for (double& component : changed) component += kChange;
  const Matrix rest =
      Copy(input.view().Slice(0, middle + 1, middle + 1 + kLater));
  const Matrix as_before = RecurrentStates(
      weights, rest, RowCopy(states, middle), Nonlinearity::kTanh);
  const Matrix after =
      RecurrentStates(weights, rest, changed, Nonlinearity::kTanh);
  Largest largest(-1);
  for (int64_t t = 0; t < kLater; ++t) {
    largest.See(-RelativeChange(as_before, after, t));
  }
  return -largest.value();
}

// |F(a + b) - F(a) - F(b) + F(0)| / |F(a)| for the last state F.
double Superposition(const Matrix& weights, const Matrix& a, const Matrix& b,
                     Nonlinearity f) {
  const auto last_state = [&weights, f](const Matrix& input) {
    const Matrix states = RecurrentStates(
        weights, input, std::vector<double>(weights.dim(0), 0.0), f);
    return RowCopy(states, states.dim(0) - 1);
  };
  Matrix sum = a;
  for (int64_t e = 0; e < sum.size(); ++e) sum[e] += b[e];
  const std::vector<double> of_sum = last_state(sum);
  const std::vector<double> of_a = last_state(a);
  const std::vector<double> of_b = last_state(b);
  const std::vector<double> of_zero = last_state(Matrix(a.shape()));
  std::vector<double> rest;
  for (size_t i = 0; i < of_a.size(); ++i) {
    rest.push_back(of_sum[i] - of_a[i] - of_b[i] + of_zero[i]);
  }
  return std::sqrt(SquaredLength(rest) / SquaredLength(of_a));
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
  const double length = std::sqrt(SquaredLength(jacobian.elements()));
  Matrix scaled = jacobian;
  for (double& element : scaled.elements()) element /= length;
  const double gram =
      std::sqrt(SquaredLength(TransposedProduct(scaled, scaled).elements()));
  return 1 / (gram * gram);
}

GradientInputs DrawGradientInputs(const GradientOptions& options,
                                  int64_t index) {
  const auto stream = [&options, index](const std::string& purpose) {
    return RandomStream(
        options.seed, absl::StrCat("gradient survival, ", purpose, " ", index));
  };
  RandomStream token_stream = stream("tokens");
  RandomStream recurrent_stream = stream("recurrent weights");
  RandomStream head_stream = stream("attention weights");
  const int64_t d = options.width;
  GradientInputs inputs;
  inputs.tokens = NormalisedTokens(options.distance + 1, d, token_stream);
  inputs.recurrent.state = ProjectionWeights(d, recurrent_stream);
  inputs.recurrent.input = ProjectionWeights(d, recurrent_stream);
  inputs.head.query = ProjectionWeights(d, head_stream);
  inputs.head.key = ProjectionWeights(d, head_stream);
  inputs.head.value = ProjectionWeights(d, head_stream);
  return inputs;
}

double ComplexStepDeviation(const GradientInputs& inputs,
                            RandomStream& stream) {
  const int64_t d = inputs.tokens.dim(1);
  const Matrix input = Project(inputs.tokens, inputs.recurrent.input);
  const Matrix states =
      RecurrentStates(inputs.recurrent.state, input,
                      std::vector<double>(d, 0.0), Nonlinearity::kTanh);
  const std::vector<double> last = GaussianMatrix(stream, 1, d, 1).elements();
  const Matrix gradient = RecurrentGradient(inputs.recurrent.state, states,
                                            last, Nonlinearity::kTanh);
  const Matrix magnitude = RecurrentGradientMagnitude(
      inputs.recurrent.state, states, last, Nonlinearity::kTanh);
  Largest largest;
  for (int64_t t = 0; t < input.dim(0); ++t) {
    const Matrix direction = GaussianMatrix(stream, 1, d, 1);
    const std::vector<double> derivative =
        ComplexStepDerivative(inputs, input, states, t, direction);
    double difference = 0;
    double size = 0;
    for (int64_t i = 0; i < d; ++i) {
      difference += gradient(t, i) * direction[i] - last[i] * derivative[i];
      size += magnitude(t, i) * std::abs(direction[i]);
    }
    largest.See(std::abs(difference) / size);
  }
  return largest.value();
}

absl::StatusOr<GradientResults> MeasureGradients(
    const GradientOptions& options) {
  Survival recurrent(options.distance);
  Survival linear(options.distance);
  Survival attention(options.distance);
  RandomStream check(options.seed, "gradient survival, complex step");
  GradientResults found;
  for (int64_t r = 0; r < options.replicates; ++r) {
    const GradientInputs inputs = DrawGradientInputs(options, r);
    recurrent.Add(RecurrentJacobians(inputs.tokens, inputs.recurrent,
                                     Nonlinearity::kTanh));
    linear.Add(RecurrentJacobians(inputs.tokens, inputs.recurrent,
                                  Nonlinearity::kIdentity));
    SOFTLOOKUP_ASSIGN_OR_RETURN(const std::vector<Matrix> jacobians,
                                AttentionJacobians(inputs.tokens, inputs.head));
    attention.Add(jacobians);
    if (r == 0)
      found.complex_step_deviation = ComplexStepDeviation(inputs, check);
  }
  for (int64_t n = 1; n <= options.distance; ++n) found.distances.push_back(n);
  found.recurrent = recurrent.Summary();
  found.linear = linear.Summary();
  found.attention = attention.Summary();
  return found;
}

LoopResults MeasureLoop(const LoopOptions& options) {
  RandomStream stream(options.seed, "loop");
  const Matrix weights = ProjectionWeights(options.width, stream);
  const Matrix a = GaussianMatrix(stream, options.positions, options.width, 1);
  const Matrix b = GaussianMatrix(stream, options.positions, options.width, 1);
  const Matrix no_loop({options.width, options.width});
  return {.smallest_later_change = SmallestLaterChange(weights, a),
          .without_loop = SmallestLaterChange(no_loop, a),
          .superposition = Superposition(weights, a, b, Nonlinearity::kTanh),
          .linear_superposition =
              Superposition(weights, a, b, Nonlinearity::kIdentity)};
}

}  // namespace softlookup
