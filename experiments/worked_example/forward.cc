#include "experiments/worked_example/forward.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "attention/attention.h"
#include "attention/mask.h"
#include "base/elementary.h"
#include "base/status.h"
#include "base/tensor/matrix.h"
#include "experiments/worked_example/triangle.h"

namespace softlookup {
namespace {

constexpr bool kBoth[] = {true, false};

Point RowPoint(const Tensor<double>& matrix, int64_t row) {
  return {matrix(row, 0), matrix(row, 1)};
}

Tensor<double> RawScores(const WorkedExample& example) {
  return MatrixProduct(example.query, Transposed(example.key));
}

// How far the largest score of a row stands above each other visible one: the
// smallest such distance; 0 for a row with one key.
double LeadOfKey(const Tensor<double>& scores, int64_t row, int64_t key) {
  double lead = std::numeric_limits<double>::infinity();
  for (int64_t j = 0; j < scores.dim(1); ++j) {
    if (j != key) lead = std::min(lead, scores(row, key) - scores(row, j));
  }
  return lead;
}

Json MeasureInputs(const WorkedExample& example) {
  return {{"tokens", example.query.dim(0)},
          {"key_width", example.key.dim(1)},
          {"value_width", example.value.dim(1)},
          {"queries", NestedLists(example.query)},
          {"keys", NestedLists(example.key)},
          {"values", NestedLists(example.value)}};
}

Json MeasureScores(const WorkedExample& example) {
  const Tensor<double> raw = RawScores(example);
  Tensor<double> scaled = raw;
  const double scale = AttentionScale({}, example.key.dim(1));
  for (double& score : scaled.elements()) score *= scale;
  const std::set<double> distinct(scaled.elements().begin(),
                                  scaled.elements().end());
  std::set<double> both = distinct;
  both.insert(raw.elements().begin(), raw.elements().end());
  Json scores;
  scores["root_of_width"] = std::sqrt(static_cast<double>(example.key.dim(1)));
  scores["raw"] = NestedLists(raw);
  scores["scaled"] = NestedLists(scaled);
  scores["distinct_scaled"] = Json(distinct);
  scores["exponentials_of_distinct_scaled"] = Json::array();
  for (const double score : distinct) {
    scores["exponentials_of_distinct_scaled"].push_back(Exp(score));
  }
  scores["distinct_scaled_count"] = distinct.size();
  scores["distinct_scaled_or_unscaled_count"] = both.size();
  scores["lead_of_own_key"] = Json::array();
  for (int64_t i = 0; i < scaled.dim(0); ++i) {
    scores["lead_of_own_key"].push_back(LeadOfKey(scaled, i, i));
  }
  return scores;
}

Json CaseJson(const BoardCase& board) {
  Json json;
  json["scores"] = NestedLists(board.scores);
  json["exponentials"] = NestedLists(board.exponentials);
  json["row_sums"] = board.row_sums;
  json["weights"] = NestedLists(board.head.weights);
  json["outputs"] = NestedLists(board.head.output);
  double by_hand = 0;
  for (int64_t i = 0; i < kExampleTokens; ++i) {
    int64_t visible = 0;
    for (int64_t j = 0; j < kExampleTokens; ++j) {
      visible += std::isfinite(board.scores(i, j)) ? 1 : 0;
      by_hand = std::max(by_hand,
                         std::abs(board.exponentials(i, j) / board.row_sums[i] -
                                  board.head.weights(i, j)));
    }
    json["visible_keys"].push_back(visible);
    json["entropies"].push_back(Entropy(board.head.weights, i));
  }
  json["weights_by_hand_deviation"] = by_hand;
  return json;
}

// What the mask changes, row by row, against the same case without it.
Json MeasureMasking(const BoardCase& masked, const BoardCase& unmasked) {
  Json masking;
  for (int64_t i = 0; i < kExampleTokens; ++i) {
    double weight_change = 0;
    double future_weight = 0;
    for (int64_t j = 0; j < kExampleTokens; ++j) {
      weight_change = std::max(
          weight_change,
          std::abs(masked.head.weights(i, j) - unmasked.head.weights(i, j)));
      if (j > i) {
        future_weight = std::max(future_weight, masked.head.weights(i, j));
      }
    }
    masking["weight_change_by_row"].push_back(weight_change);
    masking["output_change_by_row"].push_back(Distance(
        RowPoint(masked.head.output, i), RowPoint(unmasked.head.output, i)));
    masking["largest_future_weight_by_row"].push_back(future_weight);
  }
  return masking;
}

// Rows 1 and 2 of the unmasked, scaled case. Exchanging tokens 1 and 2 turns
// the score of query 1 on key j into that of query 2 on key swap(j).
absl::StatusOr<Json> MeasureMirror(const WorkedExample& example,
                                   const BoardCase& unmasked) {
  constexpr std::array<int64_t, kExampleTokens> kSwap = {1, 0, 2};
  const Tensor<double> raw = RawScores(example);
  const Tensor<double>& weights = unmasked.head.weights;
  Json mirror;
  double without_swap = 0;
  for (int64_t j = 0; j < kExampleTokens; ++j) {
    mirror["row_1_products"].push_back(raw(0, j));
    mirror["row_2_products_swapped"].push_back(raw(1, kSwap[j]));
    mirror["product_differences"].push_back(
        std::abs(raw(0, j) - raw(1, kSwap[j])));
    mirror["row_1_weights"].push_back(weights(0, j));
    mirror["row_2_weights_swapped"].push_back(weights(1, kSwap[j]));
    mirror["weight_differences"].push_back(
        std::abs(weights(0, j) - weights(1, kSwap[j])));
    without_swap =
        std::max(without_swap, std::abs(weights(0, j) - weights(1, j)));
  }
  mirror["largest_weight_difference_without_swap"] = without_swap;
  mirror["output_distance"] = Distance(RowPoint(unmasked.head.output, 0),
                                       RowPoint(unmasked.head.output, 1));
  WorkedExample equal_values = example;
  for (int64_t c = 0; c < kExampleWidth; ++c) {
    equal_values.value(1, c) = equal_values.value(0, c);
  }
  SOFTLOOKUP_ASSIGN_OR_RETURN(const BoardCase control,
                              ComputeBoardCase(equal_values, false, true));
  mirror["output_distance_with_equal_values"] = Distance(
      RowPoint(control.head.output, 0), RowPoint(control.head.output, 1));
  return mirror;
}

// What removing the scale does to a row whose largest score belongs to `best`.
Json ScalingOfRow(const WorkedExample& example, int64_t row, int64_t best,
                  const BoardCase& scaled, const BoardCase& unscaled) {
  const Point value = RowPoint(example.value, best);
  const double distance_scaled =
      Distance(RowPoint(scaled.head.output, row), value);
  const double distance_unscaled =
      Distance(RowPoint(unscaled.head.output, row), value);
  const double entropy_scaled = Entropy(scaled.head.weights, row);
  const double entropy_unscaled = Entropy(unscaled.head.weights, row);
  return {{"row", row + 1},
          {"best_key", best + 1},
          {"weight_scaled", scaled.head.weights(row, best)},
          {"weight_unscaled", unscaled.head.weights(row, best)},
          {"weight_rise",
           unscaled.head.weights(row, best) - scaled.head.weights(row, best)},
          {"entropy_scaled", entropy_scaled},
          {"entropy_unscaled", entropy_unscaled},
          {"entropy_drop", entropy_scaled - entropy_unscaled},
          {"distance_to_best_value_scaled", distance_scaled},
          {"distance_to_best_value_unscaled", distance_unscaled},
          {"distance_drop", distance_scaled - distance_unscaled}};
}

// The same last row with only the first column of queries and keys: at width 1
// the scale is 1 and removing it changes nothing.
absl::StatusOr<double> WeightRiseAtWidthOne(const WorkedExample& example) {
  const Tensor<double> query = Copy(example.query.view().Slice(1, 0, 1));
  const Tensor<double> key = Copy(example.key.view().Slice(1, 0, 1));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const HeadOutputs<double> scaled,
                              HeadForward(query, key, example.value, {}));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const HeadOutputs<double> unscaled,
      HeadForward(query, key, example.value, {.scale = 1.0}));
  const int64_t last = kExampleTokens - 1;
  return unscaled.weights(last, last) - scaled.weights(last, last);
}

absl::StatusOr<Json> MeasureScaling(const WorkedExample& example,
                                    const BoardCase& scaled,
                                    const BoardCase& unscaled,
                                    const BoardCase& unmasked_scaled,
                                    const BoardCase& unmasked_unscaled) {
  const int64_t last = kExampleTokens - 1;
  const double root = std::sqrt(static_cast<double>(kExampleWidth));
  Json scaling;
  for (int64_t j = 0; j < last; ++j) {
    scaling["last_row_lead_scaled"].push_back(scaled.scores(last, last) -
                                              scaled.scores(last, j));
    scaling["last_row_lead_unscaled"].push_back(unscaled.scores(last, last) -
                                                unscaled.scores(last, j));
  }
  // Every gap between two visible scores of a row.
  double deviation = 0;
  for (int64_t i = 0; i < kExampleTokens; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      for (int64_t k = 0; k < j; ++k) {
        const double gap = scaled.scores(i, j) - scaled.scores(i, k);
        const double wide = unscaled.scores(i, j) - unscaled.scores(i, k);
        deviation = std::max(deviation, std::abs(wide - root * gap));
      }
    }
  }
  scaling["gap_times_root_deviation"] = deviation;
  double drop = std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < kExampleTokens; ++i) {
    drop = std::min(drop, Entropy(unmasked_scaled.head.weights, i) -
                              Entropy(unmasked_unscaled.head.weights, i));
  }
  scaling["smallest_entropy_drop_unmasked"] = drop;
  scaling["last_row"] = ScalingOfRow(example, last, last, scaled, unscaled);
  scaling["first_row"] = ScalingOfRow(example, 0, 0, scaled, unscaled);
  SOFTLOOKUP_ASSIGN_OR_RETURN(scaling["weight_rise_at_width_1"],
                              WeightRiseAtWidthOne(example));
  return scaling;
}

}  // namespace

WorkedExample ChapterExample() {
  const Tensor<double> both({3, 2}, {1, 0, 0, 1, 1, 1});
  return {both, both, Tensor<double>({3, 2}, {1, 0, 0, 2, 3, 3})};
}

HeadOptions CaseOptions(bool causal, bool scaled) {
  HeadOptions options;
  if (causal) options.causal = CausalAlignment::kTopLeft;
  if (!scaled) options.scale = 1.0;
  return options;
}

std::string CaseName(bool causal, bool scaled) {
  return std::string(causal ? "causal" : "unmasked") +
         (scaled ? "_scaled" : "_unscaled");
}

absl::StatusOr<BoardCase> ComputeBoardCase(const WorkedExample& example,
                                           bool causal, bool scaled) {
  const HeadOptions options = CaseOptions(causal, scaled);
  BoardCase board;
  // S = Q K^T scale, with -inf above the diagonal under the mask
  board.scores = RawScores(example);
  const double scale =
      AttentionScale({.scale = options.scale}, example.key.dim(1));
  board.exponentials = Tensor<double>(board.scores.shape());
  for (int64_t i = 0; i < kExampleTokens; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < kExampleTokens; ++j) {
      board.scores(i, j) = causal && j > i
                               ? -std::numeric_limits<double>::infinity()
                               : board.scores(i, j) * scale;
      board.exponentials(i, j) = Exp(board.scores(i, j));
      sum += board.exponentials(i, j);
    }
    board.row_sums.push_back(sum);
  }
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      board.head,
      HeadForward(example.query, example.key, example.value, options));
  return board;
}

double Entropy(const Tensor<double>& weights, int64_t row) {
  double entropy = 0;
  for (int64_t j = 0; j < weights.dim(1); ++j) {
    const double p = weights(row, j);
    if (p > 0) entropy -= p * Log(p);
  }
  return entropy;
}

absl::StatusOr<Json> MeasureForward(const WorkedExample& example) {
  Json forward;
  forward["inputs"] = MeasureInputs(example);
  forward["scores"] = MeasureScores(example);
  BoardCase boards[2][2];  // [causal][scaled]
  for (const bool scaled : kBoth) {
    for (const bool causal : kBoth) {
      SOFTLOOKUP_ASSIGN_OR_RETURN(boards[causal][scaled],
                                  ComputeBoardCase(example, causal, scaled));
      forward["cases"][CaseName(causal, scaled)] =
          CaseJson(boards[causal][scaled]);
    }
  }
  forward["masking"] = MeasureMasking(boards[true][true], boards[false][true]);
  SOFTLOOKUP_ASSIGN_OR_RETURN(forward["mirror"],
                              MeasureMirror(example, boards[false][true]));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      forward["scaling"],
      MeasureScaling(example, boards[true][true], boards[true][false],
                     boards[false][true], boards[false][false]));
  return forward;
}

}  // namespace softlookup
