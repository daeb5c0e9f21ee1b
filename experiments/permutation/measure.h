// Attention and the order of its tokens.
//
// One layer, drawn: token embeddings, W_Q, W_K, W_V. Three variants of it are
// compared on a sequence and on its reorderings: without positions, with the
// causal mask, and with position embeddings added to the tokens.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(
//       Json json, MeasureSentences({.draws = 100, .seed = 1}));
//
// Effects are relative to the largest component of the values.
//
// Source: the chapter, section 1, on what must be added back, and exercise 4.
#ifndef SOFTLOOKUP_EXPERIMENTS_PERMUTATION_MEASURE_H_
#define SOFTLOOKUP_EXPERIMENTS_PERMUTATION_MEASURE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "base/tensor/tensor.h"

namespace softlookup {

struct PermutationDraws {
  int64_t draws = 100;  // of embeddings and projections
  uint64_t seed = 1;
};

// The sinusoidal embeddings of positions 0 to T - 1, [T, width]: sine and
// cosine in pairs, of t / 10000^(2 i / width) (Vaswani et al. 2017).
Tensor<double> PositionEmbeddings(int64_t positions, int64_t width);

// The largest distance of a row of `a` from its nearest row of `b`, or the
// other way round, by the largest component: 0 when both hold the same set of
// rows, in whatever order.
double SetDistance(const Tensor<double>& a, const Tensor<double>& b);

// The chapter's two sentences, "pressure exceeds limit" and "limit exceeds
// pressure" in Chinese: {sentences, no_positions, causal, positions}; each
// variant with the outputs of the first draw and, over all draws, by how much
// a token's own output differs between the sentences, and the set of outputs.
absl::StatusOr<Json> MeasureSentences(const PermutationDraws& draws);

// Every order of `length` drawn tokens: for each variant the smallest and the
// largest deviation from "every output moves with its token" over all orders
// but the first one.
absl::StatusOr<Json> MeasureAllOrders(const PermutationDraws& draws,
                                      int64_t length);

// What a change of the last token does to the outputs before it (a recurrent
// network, attention with and without the mask), and what a change of one
// token does to the others' outputs when attention is left out.
absl::StatusOr<Json> MeasureInfluence(const PermutationDraws& draws,
                                      int64_t length);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_PERMUTATION_MEASURE_H_
