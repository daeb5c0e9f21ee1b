#include "experiments/saturation/random_rows.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "attention/attention.h"
#include "attention/reference/attention_reference.h"
#include "attention/softmax.h"
#include "base/check.h"
#include "base/elementary.h"
#include "base/random/random.h"
#include "base/status.h"
#include "base/tensor/deviation.h"

namespace softlookup {
namespace {

Tensor<double> Gaussians(const RandomRowsOptions& options,
                         const std::string& purpose, Shape shape) {
  // A stream per width, so that a sweep's widths can change without moving
  // each other's draws.
  RandomStream stream(options.seed, absl::StrCat("random rows, ", purpose,
                                                 ", width ", options.width));
  Tensor<double> tensor(std::move(shape));
  stream.FillGaussian(absl::MakeSpan(tensor.elements()));
  return tensor;
}

// Divides each run of `width` elements by its root mean square.
void DivideByRootMeanSquare(int64_t width, Tensor<double>& tensor) {
  for (int64_t start = 0; start < tensor.size(); start += width) {
    double square = 0;
    for (int64_t i = start; i < start + width; ++i) {
      square += tensor[i] * tensor[i];
    }
    const double root = std::sqrt(square / static_cast<double>(width));
    for (int64_t i = start; i < start + width; ++i) tensor[i] /= root;
  }
}

double Length(absl::Span<const double> vector) {
  double square = 0;
  for (const double element : vector) square += element * element;
  return std::sqrt(square);
}

double Entropy(absl::Span<const double> weights) {
  double entropy = 0;
  for (const double p : weights) {
    if (p > 0) entropy -= p * Log(p);
  }
  return entropy;
}

// The largest |d_scores - J g|, over the largest |g|.
double ProductDeviation(absl::Span<const double> d_scores,
                        const Tensor<double>& jacobian,
                        absl::Span<const double> g) {
  Largest largest;
  Largest size;
  for (size_t i = 0; i < g.size(); ++i) {
    double product = 0;
    for (size_t j = 0; j < g.size(); ++j) product += jacobian(i, j) * g[j];
    largest.See(std::abs(d_scores[i] - product));
    size.See(std::abs(g[i]));
  }
  return largest.value() / size.value();
}

std::vector<double> RowScores(const RandomRows& rows, int64_t row,
                              double scale) {
  std::vector<double> scores;
  for (int64_t j = 0; j < rows.key.dim(2); ++j) {
    double product = 0;
    for (int64_t i = 0; i < rows.key.dim(3); ++i) {
      product += rows.query(row, 0, 0, i) * rows.key(row, 0, j, i);
    }
    scores.push_back(product * scale);
  }
  return scores;
}

void AddGaps(std::vector<double> scores, RowMeasures& measures) {
  std::sort(scores.begin(), scores.end());
  const double best = scores.back();
  scores.pop_back();
  measures.gap_to_runner_up.push_back(best - scores.back());
  double rest = 0;
  for (const double score : scores) {
    rest += score;
    measures.gap_to_each.push_back(best - score);
  }
  measures.gap_to_mean_rest.push_back(
      best - rest / static_cast<double>(scores.size()));
}

}  // namespace

RandomRows::RandomRows(const RandomRowsOptions& options)
    : query(Gaussians(options, "queries", {options.rows, 1, 1, options.width})),
      key(Gaussians(options, "keys",
                    {options.rows, 1, options.keys, options.width})),
      weight_gradient(Gaussians(options, "weight gradients",
                                {options.rows, 1, 1, options.keys})) {
  SOFTLOOKUP_CHECK(options.keys >= 2, "a best key and another");
}

RandomRows Normalised(RandomRows rows) {
  DivideByRootMeanSquare(rows.query.dim(3), rows.query);
  DivideByRootMeanSquare(rows.key.dim(3), rows.key);
  return rows;
}

RandomRows Enlarged(RandomRows rows, double factor) {
  for (double& element : rows.query.elements()) element *= factor;
  for (double& element : rows.key.elements()) element *= factor;
  return rows;
}

absl::StatusOr<RowMeasures> MeasureRows(const RandomRows& rows, double scale) {
  const int64_t count = rows.query.dim(0);
  const int64_t keys = rows.key.dim(2);
  const int64_t width = rows.key.dim(3);
  // With the identity for values, dL/dO is dL/dP. A bias of zeros changes
  // nothing and has dL/dS for its gradient.
  Tensor<double> identity({1, 1, keys, keys});
  for (int64_t j = 0; j < keys; ++j) identity(0, 0, j, j) = 1;
  const Tensor<double> bias({count, 1, 1, keys});
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const StridedView<const double> values,
      std::as_const(identity).view().BroadcastTo({count, 1, keys, keys}));
  AttentionInputs<double> inputs;
  inputs.query = rows.query.view();
  inputs.key = rows.key.view();
  inputs.value = values;
  inputs.bias = bias.view();
  const AttentionOptions options{.scale = scale, .weights = true};
  SOFTLOOKUP_ASSIGN_OR_RETURN(const AttentionOutputs<double> outputs,
                              reference::AttentionForward(inputs, options));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const AttentionGradients<double> gradients,
      reference::AttentionBackward(inputs, options,
                                   rows.weight_gradient.view()));

  RowMeasures measures;
  for (int64_t row = 0; row < count; ++row) {
    const absl::Span<const double> p(&(*outputs.weights)(row, 0, 0, 0), keys);
    measures.largest_weight.push_back(*std::max_element(p.begin(), p.end()));
    measures.entropy.push_back(Entropy(p));
    measures.jacobian_trace.push_back(SoftmaxJacobianTrace<double>(p));
    const Tensor<double> jacobian = SoftmaxJacobian<double>(p);
    measures.jacobian_norm.push_back(Length(jacobian.elements()));
    const absl::Span<const double> d_scores(&(*gradients.bias)(row, 0, 0, 0),
                                            keys);
    measures.score_gradient.push_back(Length(d_scores));
    measures.product_deviation.push_back(ProductDeviation(
        d_scores, jacobian, {&rows.weight_gradient(row, 0, 0, 0), p.size()}));
    measures.query_gradient.push_back(
        Length({&gradients.query(row, 0, 0, 0), static_cast<size_t>(width)}));
    std::vector<double> scores = RowScores(rows, row, scale);
    measures.scores.insert(measures.scores.end(), scores.begin(), scores.end());
    AddGaps(std::move(scores), measures);
  }
  return measures;
}

}  // namespace softlookup
