#include "experiments/soft_lookup/historical_scores.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "attention/softmax.h"
#include "base/elementary.h"
#include "base/status.h"
#include "base/tensor/deviation.h"
#include "base/tensor/linear_algebra.h"
#include "base/tensor/matrix.h"

namespace softlookup {
namespace {

constexpr int64_t kSteps = 10;      // decoder steps n
constexpr int64_t kPositions = 12;  // encoder positions T
constexpr int64_t kWidth = 4;       // of s and of h
constexpr int64_t kUnits = 16;      // of the additive score's network

// The three scores of all pairs, [n, T], from the operator's functions.
enum class Score { kAdditive, kDot, kBilinear };
Tensor<double> AllScores(Score score, const HistoricalScoresInputs& drawn,
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
double ByFormula(Score score, const HistoricalScoresInputs& drawn, int64_t step,
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

double FromFormula(Score score, const HistoricalScoresInputs& drawn) {
  const Tensor<double> all = AllScores(score, drawn, drawn.states);
  Largest largest;
  for (int64_t i = 0; i < all.dim(0); ++i) {
    for (int64_t j = 0; j < all.dim(1); ++j) {
      largest.See(std::abs(all(i, j) - ByFormula(score, drawn, i, j)));
    }
  }
  return largest.value();
}

// Only rounding for anything that one matrix product can give.
double FromLinearity(Score score, const HistoricalScoresInputs& drawn) {
  Tensor<double> sums({kSteps - 1, kWidth});
  for (int64_t i = 0; i + 1 < kSteps; ++i) {
    for (int64_t c = 0; c < kWidth; ++c) {
      sums(i, c) = drawn.states(i, c) + drawn.states(i + 1, c);
    }
  }
  const Tensor<double> of_sums = AllScores(score, drawn, sums);
  const Tensor<double> scores = AllScores(score, drawn, drawn.states);
  Largest largest;
  for (int64_t i = 0; i + 1 < kSteps; ++i) {
    for (int64_t j = 0; j < kPositions; ++j) {
      largest.See(std::abs(of_sums(i, j) - scores(i, j) - scores(i + 1, j)));
    }
  }
  return largest.value();
}

template <typename T, typename Function>
OfScores<T> ForEachScore(const Function& function) {
  return {function(Score::kAdditive), function(Score::kDot),
          function(Score::kBilinear)};
}

absl::StatusOr<int64_t> Rank(const Tensor<double>& matrix) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const std::vector<double> values,
                              SingularValues(matrix.view()));
  return NumericalRank(values,
                       RankTolerance(values, matrix.dim(0), matrix.dim(1)));
}

}  // namespace

HistoricalScoresInputs DrawHistoricalScores(RandomStream& stream) {
  const double scale = 1 / std::sqrt(static_cast<double>(kWidth));
  HistoricalScoresInputs drawn;
  drawn.states = GaussianMatrix(stream, kSteps, kWidth, 1);
  drawn.positions = GaussianMatrix(stream, kPositions, kWidth, 1);
  drawn.additive.state = GaussianMatrix(stream, kUnits, kWidth, scale);
  drawn.additive.position = GaussianMatrix(stream, kUnits, kWidth, scale);
  drawn.additive.output = Tensor<double>(
      {kUnits}, GaussianMatrix(stream, 1, kUnits, scale).elements());
  drawn.bilinear = GaussianMatrix(stream, kWidth, kWidth, scale);
  return drawn;
}

ContextExample ContextOf(const HistoricalScoresInputs& inputs, int64_t step) {
  const Tensor<double> scores =
      AllScores(Score::kAdditive, inputs, inputs.states);
  const double* const row = scores.data() + step * scores.dim(1);
  ContextExample context;
  context.additive_scores.assign(row, row + scores.dim(1));
  context.weights = Softmax<double>(context.additive_scores);
  context.context_vector =
      ContextVector<double>(context.weights, inputs.positions.view());
  return context;
}

ScoreDeviations<double> DeviationsOf(const HistoricalScoresInputs& inputs) {
  ScoreDeviations<double> found;
  found.from_formula = ForEachScore<double>(
      [&inputs](Score score) { return FromFormula(score, inputs); });
  found.from_linearity = ForEachScore<double>(
      [&inputs](Score score) { return FromLinearity(score, inputs); });
  // W = I makes the bilinear score the dot product.
  HistoricalScoresInputs with_identity = inputs;
  with_identity.bilinear = Tensor<double>({kWidth, kWidth});
  for (int64_t c = 0; c < kWidth; ++c) with_identity.bilinear(c, c) = 1;
  found.bilinear_with_identity_from_dot = LargestDifference(
      AllScores(Score::kBilinear, with_identity, inputs.states),
      AllScores(Score::kDot, inputs, inputs.states));
  // The context at two decoder steps, with the network and without it.
  const ContextExample first = ContextOf(inputs, 0);
  found.weight_change_by_decoder_state =
      LargestDifference(first.weights, ContextOf(inputs, 1).weights);
  HistoricalScoresInputs silent = inputs;
  silent.additive.output = Tensor<double>({kUnits});
  found.weight_change_without_network = LargestDifference(
      ContextOf(silent, 0).weights, ContextOf(silent, 1).weights);
  std::vector<double> sum(kWidth, 0);
  double total = 0;
  for (int64_t j = 0; j < kPositions; ++j) {
    total += first.weights[j];
    for (int64_t c = 0; c < kWidth; ++c) {
      sum[c] += first.weights[j] * inputs.positions(j, c);
    }
  }
  found.context_from_weighted_sum =
      LargestDifference(sum, first.context_vector);
  found.weight_sum_from_1 = std::abs(total - 1);
  return found;
}

absl::StatusOr<HistoricalScoresResults> MeasureHistoricalScores(
    const HistoricalScoresDraws& draws) {
  using One = ScoreDeviations<double>;
  RandomStream stream(draws.seed, "alignment");
  HistoricalScoresResults found;
  found.draws = draws.draws;
  found.decoder_steps = kSteps;
  found.positions = kPositions;
  found.width = kWidth;
  found.additive_units = kUnits;
  std::vector<One> all;
  for (int64_t n = 0; n < draws.draws; ++n) {
    const HistoricalScoresInputs drawn = DrawHistoricalScores(stream);
    all.push_back(DeviationsOf(drawn));
    for (const auto& [score, largest] :
         {std::pair(Score::kAdditive, &found.largest_rank.additive),
          std::pair(Score::kDot, &found.largest_rank.dot),
          std::pair(Score::kBilinear, &found.largest_rank.bilinear)}) {
      SOFTLOOKUP_ASSIGN_OR_RETURN(const int64_t rank,
                                  Rank(AllScores(score, drawn, drawn.states)));
      *largest = std::max(*largest, rank);
    }
    if (n == 0) found.example = ContextOf(drawn, 0);
  }
  const auto of_scores = [&all](OfScores<double> One::*deviation) {
    const auto of = [&](double OfScores<double>::*score) {
      return MeanAndRangeOf(
          all, [=](const One& one) { return one.*deviation.*score; });
    };
    return OfScores<MeanAndRange>{of(&OfScores<double>::additive),
                                  of(&OfScores<double>::dot),
                                  of(&OfScores<double>::bilinear)};
  };
  found.deviations = {
      of_scores(&One::from_formula),
      of_scores(&One::from_linearity),
      MeanAndRangeOf(all, &One::bilinear_with_identity_from_dot),
      MeanAndRangeOf(all, &One::context_from_weighted_sum),
      MeanAndRangeOf(all, &One::weight_sum_from_1),
      MeanAndRangeOf(all, &One::weight_change_by_decoder_state),
      MeanAndRangeOf(all, &One::weight_change_without_network)};
  return found;
}

}  // namespace softlookup
