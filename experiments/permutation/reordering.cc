#include "experiments/permutation/reordering.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/random/random.h"
#include "base/status.h"
#include "base/tensor/deviation.h"
#include "base/tensor/matrix.h"

namespace softlookup {
namespace {

// Row i of the result is row order[i] of the matrix.
Tensor<double> Reordered(const Tensor<double>& matrix,
                         const std::vector<int64_t>& order) {
  Tensor<double> rows(matrix.shape());
  for (int64_t i = 0; i < matrix.dim(0); ++i) {
    for (int64_t c = 0; c < matrix.dim(1); ++c) {
      rows(i, c) = matrix(order[i], c);
    }
  }
  return rows;
}

}  // namespace

double SetDistance(const Tensor<double>& a, const Tensor<double>& b) {
  Largest farthest;
  for (const auto& [from, to] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    for (int64_t i = 0; i < from->dim(0); ++i) {
      Smallest nearest;
      for (int64_t j = 0; j < to->dim(0); ++j) {
        Largest distance;
        for (int64_t c = 0; c < from->dim(1); ++c) {
          distance.See(std::abs((*from)(i, c) - (*to)(j, c)));
        }
        nearest.See(distance.value());
      }
      farthest.See(nearest.value());
    }
  }
  return farthest.value();
}

absl::StatusOr<OrderEffect> CompareOrders(const Layer& layer, Variant variant,
                                          const Tensor<double>& tokens,
                                          const std::vector<int64_t>& order) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const HeadOutputs<double> before,
                              Attend(layer, variant, tokens));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const HeadOutputs<double> after,
                              Attend(layer, variant, Reordered(tokens, order)));
  const double size = ValueSize(layer, tokens);
  OrderEffect effect;
  effect.moved =
      LargestDifference(after.output, Reordered(before.output, order)) / size;
  const Tensor<double> rows = Reordered(before.weights, order);
  effect.weights = LargestDifference(
      after.weights, Transposed(Reordered(Transposed(rows), order)));
  effect.set = SetDistance(before.output, after.output) / size;
  effect.before = before.output;
  effect.after = after.output;
  return effect;
}

absl::StatusOr<SentencesResults> MeasureSentences(
    const PermutationDraws& draws) {
  const std::vector<int64_t> reversed = {2, 1, 0};
  RandomStream embedding_stream(draws.seed, "sentence embeddings");
  RandomStream layer_stream(draws.seed, "sentence projections");
  SentencesResults found;
  found.draws = draws.draws;
  found.first = {"压力", "超过", "限值"};
  for (const int64_t word : reversed) found.second.push_back(found.first[word]);
  found.translations = {"pressure", "exceeds", "limit"};
  OfVariants<std::vector<double>> moved;
  OfVariants<std::vector<double>> weights;
  OfVariants<std::vector<double>> set;
  for (int64_t n = 0; n < draws.draws; ++n) {
    const Tensor<double> tokens =
        DrawTokens(embedding_stream, static_cast<int64_t>(found.first.size()));
    const Layer layer = DrawLayer(layer_stream);
    for (const Variant variant : kVariants) {
      SOFTLOOKUP_ASSIGN_OR_RETURN(
          OrderEffect effect, CompareOrders(layer, variant, tokens, reversed));
      moved[variant].push_back(effect.moved);
      weights[variant].push_back(effect.weights);
      set[variant].push_back(effect.set);
      if (n > 0) continue;
      found.variants[variant].outputs_of_first = std::move(effect.before);
      found.variants[variant].outputs_of_second = std::move(effect.after);
    }
  }
  for (const Variant v : kVariants) {
    found.variants[v].own_output_difference = MeanAndRangeOf(moved[v]);
    found.variants[v].weight_difference = MeanAndRangeOf(weights[v]);
    found.variants[v].set_distance = MeanAndRangeOf(set[v]);
  }
  return found;
}

absl::StatusOr<AllOrdersResults> MeasureAllOrders(const PermutationDraws& draws,
                                                  int64_t length) {
  RandomStream embedding_stream(draws.seed, "order embeddings");
  RandomStream layer_stream(draws.seed, "order projections");
  OfVariants<std::vector<double>> moved;
  int64_t orders = 0;
  for (int64_t n = 0; n < draws.draws; ++n) {
    const Tensor<double> tokens = DrawTokens(embedding_stream, length);
    const Layer layer = DrawLayer(layer_stream);
    std::vector<int64_t> order(length);
    std::iota(order.begin(), order.end(), 0);
    while (std::next_permutation(order.begin(), order.end())) {
      ++orders;
      for (const Variant variant : kVariants) {
        SOFTLOOKUP_ASSIGN_OR_RETURN(
            const OrderEffect effect,
            CompareOrders(layer, variant, tokens, order));
        moved[variant].push_back(effect.moved);
      }
    }
  }
  AllOrdersResults found;
  found.length = length;
  found.draws = draws.draws;
  found.orders_of_each_draw = orders / draws.draws;
  for (const Variant v : kVariants) found.moved[v] = MeanAndRangeOf(moved[v]);
  return found;
}

}  // namespace softlookup
