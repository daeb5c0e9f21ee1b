#include "experiments/soft_lookup/historical_scores.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "attention/score_functions.h"
#include "attention/softmax.h"
#include "base/elementary.h"
#include "base/random/random.h"
#include "base/status.h"
#include "base/tensor/linear_algebra.h"
#include "base/tensor/matrix.h"
#include "base/tensor/tensor.h"

namespace softlookup {
namespace {

constexpr int64_t kSteps = 10;      // decoder steps n
constexpr int64_t kPositions = 12;  // encoder positions T
constexpr int64_t kWidth = 4;       // of s and of h
constexpr int64_t kUnits = 16;      // of the additive score's network

struct Drawn {
  Tensor<double> states;     // s, [n, width]
  Tensor<double> positions;  // h, [T, width]
  AdditiveWeights<double> additive;
  Tensor<double> bilinear;  // W, [width, width]
};

Drawn Draw(RandomStream& stream) {
  const double scale = 1 / std::sqrt(static_cast<double>(kWidth));
  Drawn drawn;
  drawn.states = GaussianMatrix(stream, kSteps, kWidth, 1);
  drawn.positions = GaussianMatrix(stream, kPositions, kWidth, 1);
  drawn.additive.state = GaussianMatrix(stream, kUnits, kWidth, scale);
  drawn.additive.position = GaussianMatrix(stream, kUnits, kWidth, scale);
  drawn.additive.output = Tensor<double>(
      {kUnits}, GaussianMatrix(stream, 1, kUnits, scale).elements());
  drawn.bilinear = GaussianMatrix(stream, kWidth, kWidth, scale);
  return drawn;
}

// The three scores of all pairs, [n, T], from the operator's functions.
enum class Score { kAdditive, kDot, kBilinear };
Tensor<double> AllScores(Score score, const Drawn& drawn,
                         const Tensor<double>& states) {
  switch (score) {
    case Score::kAdditive:
      return AdditiveScores<double>(drawn.additive, states.view(),
                                    drawn.positions.view());
    case Score::kDot:
      return DotScores<double>(states.view(), drawn.positions.view());
    case Score::kBilinear:
      break;
  }
  return BilinearScores<double>(states.view(), drawn.bilinear,
                                drawn.positions.view());
}

// One pair's score by its formula, term by term.
double ByFormula(Score score, const Drawn& drawn, int64_t step,
                 int64_t position) {
  double sum = 0;
  for (int64_t a = 0; a < kUnits && score == Score::kAdditive; ++a) {
    double inside = 0;
    for (int64_t c = 0; c < kWidth; ++c) {
      inside += drawn.additive.state(a, c) * drawn.states(step, c) +
                drawn.additive.position(a, c) * drawn.positions(position, c);
    }
    sum += drawn.additive.output[a] * Tanh(inside);
  }
  for (int64_t c = 0; c < kWidth && score != Score::kAdditive; ++c) {
    double right = drawn.positions(position, c);
    if (score == Score::kBilinear) {
      right = 0;
      for (int64_t e = 0; e < kWidth; ++e) {
        right += drawn.bilinear(c, e) * drawn.positions(position, e);
      }
    }
    sum += drawn.states(step, c) * right;
  }
  return sum;
}

double FromFormula(Score score, const Drawn& drawn) {
  const Tensor<double> all = AllScores(score, drawn, drawn.states);
  double largest = 0;
  for (int64_t i = 0; i < kSteps; ++i) {
    for (int64_t j = 0; j < kPositions; ++j) {
      largest = std::max(largest,
                         std::abs(all(i, j) - ByFormula(score, drawn, i, j)));
    }
  }
  return largest;
}

// How far the score of a sum of two states is from the sum of their scores:
// only rounding for anything that one matrix product can give.
double FromLinearity(Score score, const Drawn& drawn) {
  Tensor<double> sums({kSteps - 1, kWidth});
  for (int64_t i = 0; i + 1 < kSteps; ++i) {
    for (int64_t c = 0; c < kWidth; ++c) {
      sums(i, c) = drawn.states(i, c) + drawn.states(i + 1, c);
    }
  }
  const Tensor<double> of_sums = AllScores(score, drawn, sums);
  const Tensor<double> scores = AllScores(score, drawn, drawn.states);
  double largest = 0;
  for (int64_t i = 0; i + 1 < kSteps; ++i) {
    for (int64_t j = 0; j < kPositions; ++j) {
      largest = std::max(
          largest, std::abs(of_sums(i, j) - scores(i, j) - scores(i + 1, j)));
    }
  }
  return largest;
}

absl::StatusOr<int64_t> Rank(const Tensor<double>& matrix) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const std::vector<double> values,
                              SingularValues(matrix.view()));
  return NumericalRank(values,
                       RankTolerance(values, matrix.dim(0), matrix.dim(1)));
}

std::vector<double> RowOf(const Tensor<double>& matrix, int64_t row) {
  const double* const begin = matrix.data() + row * matrix.dim(1);
  return std::vector<double>(begin, begin + matrix.dim(1));
}

// Weights and context vector of one decoder step under the additive score.
struct Context {
  std::vector<double> weights;
  std::vector<double> vector;
};
Context ContextOf(const Drawn& drawn, int64_t step) {
  const Tensor<double> scores =
      AllScores(Score::kAdditive, drawn, drawn.states);
  Context context;
  context.weights = Softmax<double>(RowOf(scores, step));
  context.vector =
      ContextVector<double>(context.weights, drawn.positions.view());
  return context;
}

double LargestGapOf(const std::vector<double>& a,
                    const std::vector<double>& b) {
  double largest = 0;
  for (size_t n = 0; n < a.size(); ++n) {
    largest = std::max(largest, std::abs(a[n] - b[n]));
  }
  return largest;
}

// Extremes of one quantity over the draws.
struct Range {
  double smallest = HUGE_VAL;
  double largest = -HUGE_VAL;
  double sum = 0;
  int64_t count = 0;

  void Add(double value) {
    smallest = std::min(smallest, value);
    largest = std::max(largest, value);
    sum += value;
    ++count;
  }
  Json ToJson() const {
    return {{"mean", sum / static_cast<double>(count)},
            {"range", {smallest, largest}}};
  }
};

}  // namespace

absl::StatusOr<Json> MeasureAlignment(const AlignmentDraws& draws) {
  RandomStream stream(draws.seed, "alignment");
  double formulas[3] = {0, 0, 0};
  double linearity[2] = {0, 0};
  Range additive_linearity;
  double context_from_sum = 0;
  double weight_sum = 0;
  double identity_bilinear = 0;
  Range by_decoder_state;
  Range without_network;
  int64_t ranks[3] = {0, 0, 0};
  Json example;
  for (int64_t n = 0; n < draws.draws; ++n) {
    const Drawn drawn = Draw(stream);
    for (const Score score :
         {Score::kAdditive, Score::kDot, Score::kBilinear}) {
      const int index = static_cast<int>(score);
      formulas[index] = std::max(formulas[index], FromFormula(score, drawn));
      const double bent = FromLinearity(score, drawn);
      if (score == Score::kAdditive) {
        additive_linearity.Add(bent);
      } else {
        linearity[index - 1] = std::max(linearity[index - 1], bent);
      }
      SOFTLOOKUP_ASSIGN_OR_RETURN(const int64_t rank,
                                  Rank(AllScores(score, drawn, drawn.states)));
      ranks[index] = std::max(ranks[index], rank);
    }
    // W = I makes the bilinear score the dot product.
    Drawn with_identity = drawn;
    with_identity.bilinear = Tensor<double>({kWidth, kWidth});
    for (int64_t c = 0; c < kWidth; ++c) with_identity.bilinear(c, c) = 1;
    identity_bilinear =
        std::max(identity_bilinear,
                 LargestDifference(
                     AllScores(Score::kBilinear, with_identity, drawn.states),
                     AllScores(Score::kDot, drawn, drawn.states)));
    // The context at two decoder steps, with the network and without it.
    const Context first = ContextOf(drawn, 0);
    const Context second = ContextOf(drawn, 1);
    by_decoder_state.Add(LargestGapOf(first.weights, second.weights));
    Drawn silent = drawn;
    silent.additive.output = Tensor<double>({kUnits});
    without_network.Add(LargestGapOf(ContextOf(silent, 0).weights,
                                     ContextOf(silent, 1).weights));
    std::vector<double> sum(kWidth, 0);
    double total = 0;
    for (int64_t j = 0; j < kPositions; ++j) {
      total += first.weights[j];
      for (int64_t c = 0; c < kWidth; ++c) {
        sum[c] += first.weights[j] * drawn.positions(j, c);
      }
    }
    context_from_sum =
        std::max(context_from_sum, LargestGapOf(sum, first.vector));
    weight_sum = std::max(weight_sum, std::abs(total - 1));
    if (n == 0) {
      example = {{"additive_scores",
                  RowOf(AllScores(Score::kAdditive, drawn, drawn.states), 0)},
                 {"weights", first.weights},
                 {"context_vector", first.vector}};
    }
  }
  Json json;
  json["draws"] = draws.draws;
  json["sizes"] = {{"decoder_steps", kSteps},
                   {"positions", kPositions},
                   {"width", kWidth},
                   {"additive_units", kUnits}};
  json["example"] = example;
  json["context"] = {
      {"from_weighted_sum", context_from_sum},
      {"weight_sum_from_1", weight_sum},
      {"weight_change_by_decoder_state", by_decoder_state.ToJson()},
      {"weight_change_without_network", without_network.ToJson()}};
  json["from_formula"] = {{"additive", formulas[0]},
                          {"dot", formulas[1]},
                          {"bilinear", formulas[2]}};
  json["bilinear_with_identity_from_dot"] = identity_bilinear;
  json["from_linearity"] = {{"dot", linearity[0]},
                            {"bilinear", linearity[1]},
                            {"additive", additive_linearity.ToJson()}};
  json["largest_rank"] = {
      {"additive", ranks[0]}, {"dot", ranks[1]}, {"bilinear", ranks[2]}};
  return json;
}

}  // namespace softlookup
