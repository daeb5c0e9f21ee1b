// What reordering the tokens does to a layer's outputs and weights.
//
// A layer that knows no order gives every token the same output wherever the
// token stands: its outputs move with their tokens. Measured on the chapter's
// two sentences and on every order of a longer sequence, for the three
// variants of drawn_layer.h.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(
//       SentencesResults found, MeasureSentences({.draws = 100, .seed = 1}));
//   found.variants[Variant::kCausal].set_distance.mean
//
// Effects on outputs are relative to the largest component of the values.
//
// Source: the chapter, section 1, on what must be added back, and exercise 4.
#ifndef SOFTLOOKUP_EXPERIMENTS_PERMUTATION_REORDERING_H_
#define SOFTLOOKUP_EXPERIMENTS_PERMUTATION_REORDERING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/statistics/estimate.h"
#include "base/tensor/tensor.h"
#include "experiments/permutation/drawn_layer.h"

namespace softlookup {

// The largest distance of a row of `a` from its nearest row of `b`, or the
// other way round, by the largest component: 0 when both hold the same set of
// rows, in whatever order; NaN when there is a NaN.
double SetDistance(const Tensor<double>& a, const Tensor<double>& b);

// One layer on tokens and on the same tokens in another order.
struct OrderEffect {
  double moved = 0;       // an output against its token's output before
  double weights = 0;     // a weight against that of the same two tokens
  double set = 0;         // SetDistance of the outputs
  Tensor<double> before;  // the outputs, [T, 2]
  Tensor<double> after;
};

// The token at position i of the new order is the one at order[i] before.
// Each number is the largest over tokens and components, or NaN.
absl::StatusOr<OrderEffect> CompareOrders(const Layer& layer, Variant variant,
                                          const Tensor<double>& tokens,
                                          const std::vector<int64_t>& order);

struct SentencesResults {
  struct OfVariant {
    // Of the first draw, [3, 2].
    Tensor<double> outputs_of_first;
    Tensor<double> outputs_of_second;
    // Over the draws: OrderEffect's numbers.
    MeanAndRange own_output_difference;
    MeanAndRange weight_difference;
    MeanAndRange set_distance;
  };
  int64_t draws = 0;
  std::vector<std::string> first;         // the words in order
  std::vector<std::string> second;        // the same in opposite order
  std::vector<std::string> translations;  // of `first`
  OfVariants<OfVariant> variants;
};

// The chapter's two sentences, "pressure exceeds limit" and "limit exceeds
// pressure" in Chinese.
absl::StatusOr<SentencesResults> MeasureSentences(
    const PermutationDraws& draws);

struct AllOrdersResults {
  int64_t length = 0;  // tokens
  int64_t draws = 0;
  int64_t orders_of_each_draw = 0;  // length! - 1
  // OrderEffect::moved over draws and orders.
  OfVariants<MeanAndRange> moved;
};

// Every order but the first of `length` >= 2 drawn tokens.
absl::StatusOr<AllOrdersResults> MeasureAllOrders(const PermutationDraws& draws,
                                                  int64_t length);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_PERMUTATION_REORDERING_H_
