#include "experiments/worked_example/softmax_gradient_rule.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

#include "absl/types/span.h"
#include "attention/attention.h"
#include "attention/softmax.h"
#include "attention/testing/gradient_check.h"
#include "attention/textbook/single_head.h"
#include "base/elementary.h"
#include "base/random/random.h"
#include "base/status.h"
#include "base/tensor/matrix.h"
#include "base/tensor/tensor.h"

namespace softlookup {
namespace {

using Complex = std::complex<double>;

// A weight below this is "hardly any".
constexpr double kSmallWeight = 0.01;

// How many (weight, g - mean, gradient) points the results keep.
constexpr size_t kSample = 300;

// One row and a scalar of its output,
// L(o) = sum_c (linear_c o_c + quadratic_c o_c^2).
struct Row {
  std::vector<double> scores;     // [n]
  Tensor<double> values;          // [n, Dv]
  std::vector<double> linear;     // [Dv]
  std::vector<double> quadratic;  // [Dv]
};

Row DrawRow(RandomStream& stream) {
  Row row;
  const int64_t keys = 3 + stream.UniformInt(14);
  const int64_t width = 1 + stream.UniformInt(4);
  // From nearly uniform weights to saturated ones.
  const double size = Pow(10.0, 1.5 * stream.Uniform() - 0.75);
  for (int64_t j = 0; j < keys; ++j) {
    row.scores.push_back(size * stream.Gaussian());
  }
  row.values = GaussianMatrix(stream, keys, width, 1);
  // Keys 1 and 2 carry the same value, so the same g: they differ by their
  // weights alone.
  for (int64_t c = 0; c < width; ++c) {
    row.values(1, c) = row.values(0, c);
    row.linear.push_back(stream.Gaussian());
    row.quadratic.push_back(stream.Gaussian());
  }
  return row;
}

// o = sum_j p_j v_j.
template <typename T>
std::vector<T> Output(const Row& row, absl::Span<const T> weights) {
  std::vector<T> output(row.linear.size(), T(0));
  for (size_t j = 0; j < weights.size(); ++j) {
    for (size_t c = 0; c < output.size(); ++c) {
      output[c] += weights[j] * row.values(j, c);
    }
  }
  return output;
}

template <typename T>
T Loss(const Row& row, absl::Span<const T> weights) {
  const std::vector<T> output = Output(row, weights);
  T loss = T(0);
  for (size_t c = 0; c < output.size(); ++c) {
    loss += (row.linear[c] + row.quadratic[c] * output[c]) * output[c];
  }
  return loss;
}

// g_j = dL/do . v_j.
std::vector<double> WeightGradients(const Row& row,
                                    absl::Span<const double> weights) {
  const std::vector<double> output = Output(row, weights);
  std::vector<double> g(weights.size(), 0);
  for (size_t j = 0; j < g.size(); ++j) {
    for (size_t c = 0; c < output.size(); ++c) {
      g[j] +=
          (row.linear[c] + 2 * row.quadratic[c] * output[c]) * row.values(j, c);
    }
  }
  return g;
}

// What is found over all rows.
struct Found {
  // Largest relative deviations.
  double weight_gradient = 0;
  double mean = 0;
  double rule_from_jacobian = 0;
  double rule_from_complex_step = 0;
  double without_mean_from_complex_step = 0;
  double proportion = 0;
  // Keys whose score moves the other way than a sign says.
  int64_t keys = 0;
  int64_t against_sign_above_mean = 0;
  int64_t against_sign_alone = 0;
  // Largest |dL/ds_j| relative to the range of g.
  double small_weight_move = 0;
  double any_weight_move = 0;
  int64_t small_weights = 0;
  Json sample = Json::array();
};

void Raise(double& largest, double value) {
  // Written so that a NaN stays.
  if (!(value <= largest)) largest = value;
}

void MeasureRow(const Row& row, Found& found) {
  const std::vector<double> p = Softmax<double>(row.scores);
  const std::vector<double> g = WeightGradients(row, p);
  const std::vector<double> rule = SoftmaxJacobianProduct<double>(p, g);
  const Tensor<double> jacobian = SoftmaxJacobian<double>(p);
  // The same three from L itself: by the weights as free variables, along the
  // mixture, and through the softmax.
  const std::vector<double> by_weights = ComplexStepGradient(
      [&row](absl::Span<const Complex> x) { return Loss<Complex>(row, x); }, p);
  const double along_mixture = ComplexStepDerivative(
      [&row](absl::Span<const Complex> x) { return Loss<Complex>(row, x); }, p,
      p);
  const std::vector<double> by_scores = ComplexStepGradient(
      [&row](absl::Span<const Complex> x) {
        return Loss<Complex>(row, Softmax<Complex>(x));
      },
      row.scores);
  const auto [low, high] = std::minmax_element(g.begin(), g.end());
  const double size = std::max(std::abs(*low), std::abs(*high));
  double mean = 0;
  for (size_t j = 0; j < p.size(); ++j) mean += p[j] * g[j];
  Raise(found.mean, std::abs(mean - along_mixture) / size);
  for (size_t j = 0; j < p.size(); ++j) {
    double product = 0;
    for (size_t k = 0; k < p.size(); ++k) product += jacobian(j, k) * g[k];
    Raise(found.weight_gradient, std::abs(g[j] - by_weights[j]) / size);
    Raise(found.rule_from_jacobian, std::abs(rule[j] - product) / size);
    Raise(found.rule_from_complex_step,
          std::abs(rule[j] - by_scores[j]) / size);
    Raise(found.without_mean_from_complex_step,
          std::abs(p[j] * g[j] - by_scores[j]) / size);
    // Descent moves the score by minus its gradient: up where g is below the
    // mean.
    ++found.keys;
    const bool up = by_scores[j] < 0;
    if (up != (g[j] < mean)) ++found.against_sign_above_mean;
    if (up != (g[j] < 0)) ++found.against_sign_alone;
    const double move = std::abs(by_scores[j]) / (*high - *low);
    found.any_weight_move = std::max(found.any_weight_move, move);
    if (p[j] < kSmallWeight) {
      ++found.small_weights;
      found.small_weight_move = std::max(found.small_weight_move, move);
    }
    if (found.sample.size() < kSample) {
      found.sample.push_back({p[j], g[j] - mean, by_scores[j]});
    }
  }
  // Equal g: the gradients are as the weights. Cross-multiplied, because both
  // vanish where g meets the mean.
  Raise(found.proportion,
        std::abs(by_scores[0] * p[1] - by_scores[1] * p[0]) / size);
}

// dQ = dS K scale and dK = dS^T Q scale against complex steps of a whole head
// whose loss is sum_ic coefficient_ic o_ic.
absl::StatusOr<Json> MeasureProducts(uint64_t seed) {
  constexpr int64_t kTokens = 5;
  constexpr int64_t kWidth = 3;
  RandomStream stream(seed, "row rule, products");
  const Tensor<double> query = GaussianMatrix(stream, kTokens, kWidth, 1);
  const Tensor<double> key = GaussianMatrix(stream, kTokens, kWidth, 1);
  const Tensor<double> value = GaussianMatrix(stream, kTokens, kWidth, 1);
  const Tensor<double> coefficient = GaussianMatrix(stream, kTokens, kWidth, 1);
  SOFTLOOKUP_ASSIGN_OR_RETURN(const HeadGradients gradients,
                              HeadBackward(query, key, value, {}, coefficient));
  const auto loss = [&](absl::Span<const Complex> x, bool of_query) {
    const Tensor<Complex> moved(query.shape(),
                                std::vector<Complex>(x.begin(), x.end()));
    const HeadOutputs<Complex> head =
        HeadForward(of_query ? moved : ToComplex(query),
                    of_query ? ToComplex(key) : moved, ToComplex(value), {})
            .value();
    Complex sum = 0;
    for (int64_t n = 0; n < coefficient.size(); ++n) {
      sum += coefficient[n] * head.output[n];
    }
    return sum;
  };
  Tensor<double> d_query = MatrixProduct(gradients.scores, key);
  Tensor<double> d_key = MatrixProduct(Transposed(gradients.scores), query);
  const double scale = AttentionScale({}, kWidth);
  for (double& x : d_query.elements()) x *= scale;
  for (double& x : d_key.elements()) x *= scale;
  const Tensor<double> query_steps(query.shape(),
                                   ComplexStepGradient(
                                       [&loss](absl::Span<const Complex> x) {
                                         return loss(x, /*of_query=*/true);
                                       },
                                       query.elements()));
  const Tensor<double> key_steps(key.shape(),
                                 ComplexStepGradient(
                                     [&loss](absl::Span<const Complex> x) {
                                       return loss(x, /*of_query=*/false);
                                     },
                                     key.elements()));
  return Json{{"tokens", kTokens},
              {"width", kWidth},
              {"largest_query_gradient", LargestMagnitude(query_steps)},
              {"largest_key_gradient", LargestMagnitude(key_steps)},
              {"query_deviation", LargestDifference(d_query, query_steps)},
              {"key_deviation", LargestDifference(d_key, key_steps)}};
}

}  // namespace

absl::StatusOr<Json> MeasureRowRule(const RowRuleDraws& draws) {
  RandomStream stream(draws.seed, "row rule");
  Found found;
  for (int64_t n = 0; n < draws.rows; ++n) MeasureRow(DrawRow(stream), found);
  Json json;
  json["rows"] = draws.rows;
  json["keys"] = found.keys;
  json["weight_gradient_deviation"] = found.weight_gradient;
  json["mean_deviation"] = found.mean;
  json["rule_from_jacobian"] = found.rule_from_jacobian;
  json["rule_from_complex_step"] = found.rule_from_complex_step;
  json["without_mean_from_complex_step"] = found.without_mean_from_complex_step;
  json["moves_against_g_minus_mean"] = found.against_sign_above_mean;
  json["moves_against_g_alone"] = found.against_sign_alone;
  json["equal_g_proportion_deviation"] = found.proportion;
  json["small_weight_limit"] = kSmallWeight;
  json["keys_with_small_weight"] = found.small_weights;
  json["largest_move_of_small_weight"] = found.small_weight_move;
  json["largest_move_of_any_weight"] = found.any_weight_move;
  json["sample_columns"] = {"weight", "g_minus_mean", "score_gradient"};
  json["sample"] = found.sample;
  SOFTLOOKUP_ASSIGN_OR_RETURN(json["products"], MeasureProducts(draws.seed));
  return json;
}

}  // namespace softlookup
