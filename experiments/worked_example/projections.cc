#include "experiments/worked_example/projections.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "attention/softmax.h"
#include "attention/textbook/single_head.h"
#include "base/elementary.h"
#include "base/random/random.h"
#include "base/status.h"
#include "base/tensor/matrix.h"
#include "base/tensor/tensor.h"

namespace softlookup {
namespace {

// Sizes of the drawn case; no two alike, so that no shape can stand in for
// another.
constexpr int64_t kTokens = 5;      // T
constexpr int64_t kWidth = 8;       // d
constexpr int64_t kKeyWidth = 4;    // d_k
constexpr int64_t kValueWidth = 6;  // d_v

struct Projected {
  Tensor<double> tokens;        // X, [T, d]
  Tensor<double> query_matrix;  // W_Q, [d, d_k]
  Tensor<double> key_matrix;    // W_K, [d, d_k]
  Tensor<double> value_matrix;  // W_V, [d, d_v]

  Tensor<double> query() const { return MatrixProduct(tokens, query_matrix); }
  Tensor<double> key() const { return MatrixProduct(tokens, key_matrix); }
  Tensor<double> value() const { return MatrixProduct(tokens, value_matrix); }
};

Tensor<double> DrawMatrix(RandomStream& stream, int64_t columns) {
  return GaussianMatrix(stream, kWidth, columns,
                        1 / std::sqrt(static_cast<double>(kWidth)));
}

Projected Draw(RandomStream& stream) {
  Projected drawn;
  drawn.tokens = GaussianMatrix(stream, kTokens, kWidth, 1);
  drawn.query_matrix = DrawMatrix(stream, kKeyWidth);
  drawn.key_matrix = DrawMatrix(stream, kKeyWidth);
  drawn.value_matrix = DrawMatrix(stream, kValueWidth);
  return drawn;
}

absl::StatusOr<HeadOutputs<double>> Attend(const Projected& drawn) {
  return HeadForward(drawn.query(), drawn.key(), drawn.value(), {});
}

Tensor<double> Row(const Tensor<double>& matrix, int64_t row) {
  return Copy(matrix.view().Slice(0, row, row + 1));
}

// S as the reference used it: P_ij = exp(S_ij) / exp(log-sum-exp_i).
Tensor<double> ScoresOf(const HeadOutputs<double>& head) {
  Tensor<double> scores = head.weights;
  for (int64_t i = 0; i < scores.dim(0); ++i) {
    for (int64_t j = 0; j < scores.dim(1); ++j) {
      scores(i, j) = Log(scores(i, j)) + head.log_sum_exp[i];
    }
  }
  return scores;
}

double Asymmetry(const Tensor<double>& square) {
  return LargestDifference(square, Transposed(square));
}

// The smallest, mean and largest of an effect over the draws.
struct Spread {
  std::vector<double> values;

  double Smallest() const {
    return *std::min_element(values.begin(), values.end());
  }
  double Largest() const {
    return *std::max_element(values.begin(), values.end());
  }
  Json ToJson() const {
    double sum = 0;
    for (const double value : values) sum += value;
    return {{"mean", sum / static_cast<double>(values.size())},
            {"range", {Smallest(), Largest()}}};
  }
};

// Row by row, what the formulas say of one drawn case.
struct FormulaDeviations {
  double rows = 0;
  double scores = 0;
  double weights = 0;
  double row_sums = 0;
  double outputs = 0;
  double smallest_weight = HUGE_VAL;
  double smallest_score = HUGE_VAL;
};

void Update(const Projected& drawn, const HeadOutputs<double>& head,
            FormulaDeviations& found) {
  const Tensor<double> query = drawn.query();
  const Tensor<double> key = drawn.key();
  const Tensor<double> value = drawn.value();
  const Tensor<double> scores = ScoresOf(head);
  for (int64_t i = 0; i < kTokens; ++i) {
    const Tensor<double> token = Row(drawn.tokens, i);
    found.rows = std::max(
        {found.rows,
         LargestDifference(Row(query, i),
                           MatrixProduct(token, drawn.query_matrix)),
         LargestDifference(Row(key, i), MatrixProduct(token, drawn.key_matrix)),
         LargestDifference(Row(value, i),
                           MatrixProduct(token, drawn.value_matrix))});
    double sum = 0;
    std::vector<double> products;
    for (int64_t j = 0; j < kTokens; ++j) {
      double product = 0;
      for (int64_t c = 0; c < kKeyWidth; ++c) {
        product += query(i, c) * key(j, c);
      }
      product /= std::sqrt(static_cast<double>(kKeyWidth));
      products.push_back(product);
      found.scores = std::max(found.scores, std::abs(product - scores(i, j)));
      found.smallest_score = std::min(found.smallest_score, product);
      found.smallest_weight =
          std::min(found.smallest_weight, head.weights(i, j));
      sum += head.weights(i, j);
    }
    found.row_sums = std::max(found.row_sums, std::abs(sum - 1));
    const std::vector<double> textbook =
        SoftmaxWithoutMaximum<double>(products);
    for (int64_t j = 0; j < kTokens; ++j) {
      found.weights =
          std::max(found.weights, std::abs(textbook[j] - head.weights(i, j)));
    }
    for (int64_t c = 0; c < kValueWidth; ++c) {
      double average = 0;
      for (int64_t j = 0; j < kTokens; ++j) {
        average += head.weights(i, j) * value(j, c);
      }
      found.outputs =
          std::max(found.outputs, std::abs(average - head.output(i, c)));
    }
  }
}

// Which widths must agree: 1 where attention takes the shapes, else 0.
Json MeasureWidths(const Projected& drawn) {
  const auto accepted = [](int64_t query_width, int64_t key_width,
                           int64_t value_width) {
    return HeadForward(Tensor<double>({kTokens, query_width}),
                       Tensor<double>({kTokens, key_width}),
                       Tensor<double>({kTokens, value_width}), {})
                   .ok()
               ? 1
               : 0;
  };
  Json widths;
  widths["query_and_key_equal"] = accepted(kKeyWidth, kKeyWidth, kValueWidth);
  widths["query_and_key_different"] =
      accepted(kKeyWidth + 1, kKeyWidth, kValueWidth);
  widths["query_and_key_different_refused"] =
      1 - widths["query_and_key_different"].get<int>();
  Json free_width;
  int64_t refused = 0;
  for (const int64_t width : {int64_t{1}, kKeyWidth, kValueWidth, 4 * kWidth}) {
    refused += 1 - accepted(kKeyWidth, kKeyWidth, width);
    free_width.push_back(width);
  }
  widths["value_widths_tried"] = free_width;
  widths["value_widths_refused"] = refused;
  widths["output_width"] = Attend(drawn).value().output.dim(1);
  return widths;
}

}  // namespace

absl::StatusOr<Json> MeasureProjections(const ProjectionDraws& draws) {
  RandomStream stream(draws.seed, "projections");
  FormulaDeviations found;
  Spread asymmetry;
  Spread shared_asymmetry;
  Spread weight_change_by_value_matrix;
  Spread weight_change_by_key_matrix;
  Spread output_change_by_value_matrix;
  Projected drawn;
  HeadOutputs<double> head;
  for (int64_t n = 0; n < draws.draws; ++n) {
    drawn = Draw(stream);
    SOFTLOOKUP_ASSIGN_OR_RETURN(head, Attend(drawn));
    Update(drawn, head, found);
    // One matrix for two roles: what a token looks for is what it offers.
    const auto pair_scores = [](const Projected& p) {
      return MatrixProduct(p.query(), Transposed(p.key()));
    };
    Projected shared = drawn;
    shared.key_matrix = drawn.query_matrix;
    asymmetry.values.push_back(Asymmetry(pair_scores(drawn)));
    shared_asymmetry.values.push_back(Asymmetry(pair_scores(shared)));
    // Another W_V passes on something else at the same match; another W_K
    // changes the match.
    Projected other_value = drawn;
    other_value.value_matrix = DrawMatrix(stream, kValueWidth);
    Projected other_key = drawn;
    other_key.key_matrix = DrawMatrix(stream, kKeyWidth);
    SOFTLOOKUP_ASSIGN_OR_RETURN(const HeadOutputs<double> with_other_value,
                                Attend(other_value));
    SOFTLOOKUP_ASSIGN_OR_RETURN(const HeadOutputs<double> with_other_key,
                                Attend(other_key));
    weight_change_by_value_matrix.values.push_back(
        LargestDifference(head.weights, with_other_value.weights));
    weight_change_by_key_matrix.values.push_back(
        LargestDifference(head.weights, with_other_key.weights));
    output_change_by_value_matrix.values.push_back(
        LargestDifference(head.output, with_other_value.output));
  }
  Json json;
  json["draws"] = draws.draws;
  json["shapes"] = {
      {"tokens", {kTokens, kWidth}},
      {"queries", drawn.query().shape()},
      {"keys", drawn.key().shape()},
      {"values", drawn.value().shape()},
      {"weights", head.weights.shape()},
      {"outputs", head.output.shape()},
      {"scores_minus_pairs", head.weights.size() - kTokens * kTokens}};
  json["formulas"] = {{"row_from_its_own_token", found.rows},
                      {"score_from_scaled_product", found.scores},
                      {"weight_from_textbook_softmax", found.weights},
                      {"row_sum_from_1", found.row_sums},
                      {"output_from_weighted_average", found.outputs},
                      {"smallest_weight", found.smallest_weight},
                      {"smallest_score", found.smallest_score}};
  json["widths"] = MeasureWidths(drawn);
  json["roles"] = {
      {"asymmetry_of_scores", asymmetry.ToJson()},
      {"asymmetry_with_one_matrix", shared_asymmetry.ToJson()},
      {"weight_change_by_value_matrix", weight_change_by_value_matrix.ToJson()},
      {"weight_change_by_key_matrix", weight_change_by_key_matrix.ToJson()},
      {"output_change_by_value_matrix",
       output_change_by_value_matrix.ToJson()}};
  return json;
}

}  // namespace softlookup
