#include "interpretability/head_composition.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/random/random.h"
#include "base/statistics/estimate.h"
#include "base/tensor/matrix.h"
#include "interpretability/weight_matrices.h"

namespace softlookup {
namespace {

double FrobeniusNorm(const Tensor<double>& matrix) {
  double sum = 0;
  for (const double x : matrix.elements()) sum += x * x;
  return std::sqrt(sum);
}

double StandardDeviation(const std::vector<double>& draws) {
  return std::sqrt(VarianceEstimate(draws).value);
}

// How a row's element at `column` stands among the row's first `count`.
struct RowStanding {
  bool largest = false;
  double deviations = 0;
};

RowStanding Standing(const Tensor<double>& matrix, int64_t row, int64_t column,
                     int64_t count) {
  const double* x = &matrix(row, 0);
  const double mean = Mean({x, static_cast<size_t>(count)});
  double squares = 0;
  for (int64_t k = 0; k < count; ++k) squares += (x[k] - mean) * (x[k] - mean);
  const double deviation = std::sqrt(squares / static_cast<double>(count));
  return {*std::max_element(x, x + count) <= x[column],
          deviation > 0 ? (x[column] - mean) / deviation : 0};
}

// A square matrix whose row i should stand out at column i - shift. With
// `causal` row i has i + 1 elements; rows with fewer than two are left out.
Json CircuitJson(const Tensor<double>& matrix, int64_t shift, bool causal) {
  double largest = 0;
  double deviations = 0;
  int64_t rows = 0;
  Tensor<double> centred = matrix;
  for (int64_t i = 0; i < matrix.dim(0); ++i) {
    const int64_t count = causal ? i + 1 : matrix.dim(1);
    const double mean = Mean({&matrix(i, 0), static_cast<size_t>(count)});
    for (int64_t k = 0; k < matrix.dim(1); ++k) {
      centred(i, k) = k < count ? matrix(i, k) - mean : 0;
    }
    if (i < shift || count < 2) continue;
    const RowStanding standing = Standing(matrix, i, i - shift, count);
    largest += standing.largest ? 1 : 0;
    deviations += standing.deviations;
    ++rows;
  }
  return {{"largest_on_diagonal", largest / static_cast<double>(rows)},
          {"diagonal_deviations", deviations / static_cast<double>(rows)},
          {"matrix", NestedLists(centred)}};
}

}  // namespace

double CompositionScore(const Tensor<double>& a, const Tensor<double>& b) {
  const double norms = FrobeniusNorm(a) * FrobeniusNorm(b);
  return norms == 0 ? 0 : FrobeniusNorm(MatrixProduct(a, b)) / norms;
}

Json MeasureComposition(const ParameterLayout& layout,
                        absl::Span<const float> weights, uint64_t seed,
                        int64_t draws) {
  const ModelConfig& config = layout.config();
  const int64_t d = config.d_model;
  const int64_t width = config.d_head;
  // Scores do not depend on the scale of the weights.
  RandomStream stream(seed, "composition baseline");
  std::vector<double> baseline;
  for (int64_t n = 0; n < draws; ++n) {
    const auto draw = [&](int64_t rows, int64_t columns) {
      return GaussianMatrix(stream, rows, columns, 1);
    };
    const Tensor<double> first = draw(d, width);
    const Tensor<double> second = draw(width, d);
    const Tensor<double> third = draw(d, width);
    const Tensor<double> fourth = draw(width, d);
    baseline.push_back(CompositionScore(MatrixProduct(first, second),
                                        MatrixProduct(third, fourth)));
  }
  const double mean = Mean(baseline);
  const double deviation = StandardDeviation(baseline);
  Json json;
  json["baseline"] = {
      {"draws", draws}, {"mean", mean}, {"standard_deviation", deviation}};
  json["pairs"] = Json::array();
  const WeightMatrices matrices(layout, weights);
  for (int64_t from = 0; from < config.n_layers; ++from) {
    for (int64_t h = 0; h < config.n_heads; ++h) {
      const Tensor<double> write = matrices.OutputValue(from, h);
      for (int64_t to = from + 1; to < config.n_layers; ++to) {
        for (int64_t g = 0; g < config.n_heads; ++g) {
          const Tensor<double> query_key = matrices.QueryKey(to, g);
          Json entry;
          entry["from"] = HeadNameJson({from, h});
          entry["to"] = HeadNameJson({to, g});
          for (const auto& [name, score] :
               {std::pair<std::string, double>{
                    "query", CompositionScore(write, query_key)},
                {"key", CompositionScore(write, Transposed(query_key))},
                {"value",
                 CompositionScore(write, matrices.OutputValue(to, g))}}) {
            entry[name] = score;
            entry[name + "_deviations"] = (score - mean) / deviation;
          }
          json["pairs"].push_back(std::move(entry));
        }
      }
    }
  }
  return json;
}

Json MeasureFullCircuits(const ParameterLayout& layout,
                         absl::Span<const float> weights,
                         const HeadPair& pair) {
  const WeightMatrices matrices(layout, weights);
  const Tensor<double> embedding = matrices.Embedding();
  const auto& [first_layer, first_head] = pair.previous_token;
  const auto& [layer, head] = pair.induction;
  const Tensor<double> query_key = matrices.QueryKey(layer, head);
  const Tensor<double> query = MatrixProduct(embedding, query_key);
  const Tensor<double> written =
      MatrixProduct(embedding, matrices.OutputValue(first_layer, first_head));
  Json json;
  const auto output = [&](const HeadName& name) {
    return CircuitJson(
        MatrixProduct(MatrixProduct(embedding, matrices.OutputValue(name.layer,
                                                                    name.head)),
                      matrices.Unembedding()),
        /*shift=*/0, /*causal=*/false);
  };
  json["output"] = output(pair.induction);
  json["first_output"] = output(pair.previous_token);
  json["match"] = CircuitJson(MatrixProduct(query, Transposed(written)),
                              /*shift=*/0, /*causal=*/false);
  json["direct"] = CircuitJson(MatrixProduct(query, Transposed(embedding)),
                               /*shift=*/0, /*causal=*/false);
  if (layout.config().positional_embedding_type ==
      PositionalEmbeddingType::kStandard) {
    const Tensor<double> table = matrices.Positions();
    json["position"] = CircuitJson(
        MatrixProduct(
            MatrixProduct(table, matrices.QueryKey(first_layer, first_head)),
            Transposed(table)),
        /*shift=*/1, /*causal=*/true);
  }
  return json;
}

}  // namespace softlookup
