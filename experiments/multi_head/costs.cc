#include "experiments/multi_head/costs.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "attention/cost.h"
#include "base/elementary.h"
#include "base/status.h"
#include "base/tensor/strided_view.h"
#include "base/tensor/tensor.h"

namespace softlookup {
namespace {

// Takes sums of products and counts the multiply-adds.
class Counter {
 public:
  // sum_c a_c b_c over `count` pairs.
  template <typename A, typename B>
  double Dot(int64_t count, const A& a, const B& b) {
    double sum = 0;
    for (int64_t c = 0; c < count; ++c) {
      sum += a(c) * b(c);
      ++multiply_adds_;
    }
    return sum;
  }

  // How many since the last call.
  int64_t Take() { return std::exchange(multiply_adds_, 0); }

 private:
  int64_t multiply_adds_ = 0;
};

// x W, [T, n] from [T, d] and [d, n].
Tensor<double> Project(Counter& counter, const StridedView<const double>& x,
                       const Tensor<double>& weight) {
  Tensor<double> product({x.dim(0), weight.dim(1)});
  for (int64_t t = 0; t < x.dim(0); ++t) {
    for (int64_t n = 0; n < weight.dim(1); ++n) {
      product(t, n) = counter.Dot(
          x.dim(1), [&](int64_t c) { return x(t, c); },
          [&](int64_t c) { return weight(c, n); });
    }
  }
  return product;
}

int64_t Gap(int64_t a, int64_t b) { return std::abs(a - b); }

}  // namespace

CountedLayer CountLayerOperations(uint64_t seed, const MultiHeadSizes& sizes) {
  const MultiHeadProblem problem = DrawMultiHead(seed, sizes);
  const MultiHeadWeights<double>& weights = problem.weights;
  const int64_t positions = sizes.positions;
  const int64_t dk = sizes.head_width();
  const StridedView<const double> x(problem.x.data(), {positions, sizes.width});
  CountedLayer counted;
  counted.parameters = weights.query.size() + weights.key.size() +
                       weights.value.size() + weights.output.size();
  Counter counter;
  const Tensor<double> q = Project(counter, x, weights.query);
  counted.one_projection = counter.Take();
  const Tensor<double> k = Project(counter, x, weights.key);
  const Tensor<double> v = Project(counter, x, weights.value);
  counted.four_projections = counted.one_projection + counter.Take();

  Tensor<double> heads({positions, sizes.width});
  counted.scores.assign(positions, 0);
  counted.averages.assign(positions, 0);
  for (int64_t i = 0; i < sizes.heads; ++i) {
    const int64_t begin = i * dk;
    for (int64_t t = 0; t < positions; ++t) {
      // Position t, from 0, sees t + 1 keys.
      std::vector<double> p;
      double sum = 0;
      for (int64_t s = 0; s <= t; ++s) {
        const double score = counter.Dot(
            dk, [&](int64_t c) { return q(t, begin + c); },
            [&](int64_t c) { return k(s, begin + c); });
        p.push_back(Exp(score / std::sqrt(static_cast<double>(dk))));
        sum += p.back();
      }
      counted.scores[t] += counter.Take();
      for (int64_t c = 0; c < dk; ++c) {
        heads(t, begin + c) = counter.Dot(
            t + 1, [&](int64_t s) { return p[s] / sum; },
            [&](int64_t s) { return v(s, begin + c); });
      }
      counted.averages[t] += counter.Take();
      // The scores that a layer without a mask takes as well.
      for (int64_t s = t + 1; s < positions; ++s) {
        counter.Dot(
            dk, [&](int64_t c) { return q(t, begin + c); },
            [&](int64_t c) { return k(s, begin + c); });
      }
      counted.all_scores += counter.Take();
    }
  }
  for (const int64_t scores : counted.scores) counted.all_scores += scores;
  Project(counter, heads.view(), weights.output);
  counted.four_projections += counter.Take();
  return counted;
}

absl::StatusOr<Json> MeasureCosts(uint64_t seed, const MultiHeadSizes& sizes,
                                  int64_t large_width, int64_t large_heads) {
  const int64_t d = sizes.width;
  const int64_t positions = sizes.positions;
  Json by_heads = Json::array();
  int64_t parameter_gap = 0;
  int64_t projection_gap = 0;
  int64_t four_projection_gap = 0;
  int64_t score_gap = 0;
  int64_t score_flop_gap = 0;
  int64_t average_flop_gap = 0;
  int64_t token_flop_gap = 0;
  int64_t formula_gap = 0;
  for (int64_t heads = 1; heads <= d && d % heads == 0; heads *= 2) {
    MultiHeadSizes these = sizes;
    these.batch = 1;
    these.heads = heads;
    const CountedLayer counted = CountLayerOperations(seed, these);
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        const MultiHeadCost formula,
        CountMultiHead({.positions = positions, .width = d, .heads = heads}));
    // What the chapter says, for any h.
    parameter_gap = std::max(parameter_gap, Gap(counted.parameters, 4 * d * d));
    projection_gap = std::max(projection_gap,
                              Gap(counted.one_projection, positions * d * d));
    four_projection_gap =
        std::max(four_projection_gap,
                 Gap(2 * counted.four_projections, positions * 8 * d * d));
    score_gap =
        std::max(score_gap, Gap(counted.all_scores, positions * positions * d));
    int64_t causal_flops = 0;
    for (int64_t t = 1; t <= positions; ++t) {
      const int64_t scores = 2 * counted.scores[t - 1];
      const int64_t averages = 2 * counted.averages[t - 1];
      score_flop_gap = std::max(score_flop_gap, Gap(scores, 2 * t * d));
      average_flop_gap = std::max(average_flop_gap, Gap(averages, 2 * t * d));
      token_flop_gap =
          std::max(token_flop_gap, Gap(scores + averages, 4 * t * d));
      causal_flops += scores + averages;
    }
    formula_gap =
        std::max({formula_gap, Gap(counted.parameters, formula.parameters),
                  Gap(counted.one_projection,
                      positions * formula.projection_multiply_adds),
                  Gap(2 * counted.four_projections,
                      positions * formula.four_projection_flops),
                  Gap(counted.all_scores, formula.score_multiply_adds),
                  Gap(2 * counted.scores.back(), formula.score_flops),
                  Gap(2 * counted.averages.back(), formula.value_flops),
                  Gap(causal_flops, formula.causal_mixing_flops)});
    by_heads.push_back(
        {{"heads", heads},
         {"head_width", formula.head_width},
         {"parameters", counted.parameters},
         {"multiply_adds_of_one_projection_of_one_token",
          counted.one_projection / positions},
         {"flops_of_four_projections_of_one_token",
          2 * counted.four_projections / positions},
         {"multiply_adds_of_all_scores", counted.all_scores},
         {"flops_of_the_last_tokens_scores_and_averages",
          2 * (counted.scores.back() + counted.averages.back())},
         {"flops_of_scores_and_averages_of_the_sequence", causal_flops}});
  }
  Json costs;
  costs["positions"] = positions;
  costs["width"] = d;
  costs["deviations"] = {{"parameters_from_4_d_d", parameter_gap},
                         {"projection_from_d_d", projection_gap},
                         {"projection_flops_from_2_d_d", 2 * projection_gap},
                         {"four_projections_from_8_d_d", four_projection_gap},
                         {"all_scores_from_T_T_d", score_gap},
                         {"token_scores_from_2_t_d", score_flop_gap},
                         {"token_averages_from_2_t_d", average_flop_gap},
                         {"token_mixing_from_4_t_d", token_flop_gap},
                         {"counts_from_formulas", formula_gap}};
  int64_t least = by_heads[0]["multiply_adds_of_all_scores"].get<int64_t>();
  int64_t most = least;
  for (const Json& entry : by_heads) {
    const int64_t scores = entry["multiply_adds_of_all_scores"].get<int64_t>();
    least = std::min(least, scores);
    most = std::max(most, scores);
  }
  costs["spread_of_score_multiply_adds_over_heads"] = most - least;
  // If each of the heads were as wide as the layer: so many times the count of
  // one full-width head instead.
  costs["extra_score_multiply_adds_of_full_width_heads"] =
      (sizes.heads - 1) *
      by_heads[0]["multiply_adds_of_all_scores"].get<int64_t>();
  costs["by_heads"] = std::move(by_heads);

  // Over whole sequences: doubling T.
  Json sequences = Json::array();
  double last_ratio = 0;
  int64_t last_positions = 0;
  for (int64_t t = 1024; t <= 32768; t *= 2) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        const MultiHeadCost half,
        CountMultiHead({.positions = t / 2, .width = d, .heads = sizes.heads}));
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        const MultiHeadCost whole,
        CountMultiHead({.positions = t, .width = d, .heads = sizes.heads}));
    last_ratio = static_cast<double>(whole.causal_mixing_flops) /
                 static_cast<double>(half.causal_mixing_flops);
    last_positions = t;
    sequences.push_back(
        {{"positions", t},
         {"mixing_flops", whole.causal_mixing_flops},
         {"projection_flops", t * whole.four_projection_flops},
         {"mixing_flops_over_those_of_half_the_length", last_ratio},
         {"projection_flops_over_those_of_half_the_length",
          static_cast<double>(t * whole.four_projection_flops) /
              static_cast<double>(t / 2 * half.four_projection_flops)}});
  }
  costs["doubling"] = {
      {"positions", last_positions},
      {"mixing_growth", last_ratio},
      {"deviation_of_mixing_growth_from_4", std::abs(last_ratio - 4)},
      {"projection_growth",
       sequences.back()["projection_flops_over_those_of_half_the_length"]}};
  costs["sequences"] = std::move(sequences);

  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const MultiHeadCost large,
      CountMultiHead(
          {.positions = 1, .width = large_width, .heads = large_heads}));
  costs["large"] = {{"width", large_width},
                    {"heads", large_heads},
                    {"head_width", large.head_width},
                    {"parameters", large.parameters}};
  return costs;
}

}  // namespace softlookup
