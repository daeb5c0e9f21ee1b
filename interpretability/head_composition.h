// How the weights of two heads fit together, and the full circuits that they
// form over the vocabulary, without running the model.
//
//   results["composition"] = MeasureComposition(layout, weights, seed, 200);
//   results["circuits"] = MeasureFullCircuits(layout, weights, previous,
//                                             induction);
//
// Source: Elhage et al. 2021, "A Mathematical Framework for Transformer
// Circuits".
#ifndef SOFTLOOKUP_INTERPRETABILITY_HEAD_COMPOSITION_H_
#define SOFTLOOKUP_INTERPRETABILITY_HEAD_COMPOSITION_H_

#include <cstdint>

#include "absl/types/span.h"
#include "base/json.h"
#include "base/tensor/tensor.h"
#include "interpretability/head_interventions.h"
#include "model/parameters.h"

namespace softlookup {

// ||A B||_F / (||A||_F ||B||_F), from 0 to 1; 0 for a matrix of zeros.
double CompositionScore(const Tensor<double>& a, const Tensor<double>& b);

// For every head and every head of a later layer: how strongly the later one
// reads what the earlier one writes, by query, key and value.
//   query  W_V W_O (earlier) with W_Q W_K^T (later)
//   key    the same with W_K W_Q^T
//   value  the same with W_V W_O (later)
// {"baseline": {"mean", "standard_deviation"},
//  "pairs": [{"from", "to", "query", "key", "value"}]}, each score also as
// "..._deviations", standard deviations above the mean of `draws` pairs of
// random heads of the same shapes, whose weights are independent normals.
Json MeasureComposition(const ParameterLayout& layout,
                        absl::Span<const float> weights, uint64_t seed,
                        int64_t draws);

// The matrices that the circuit of two heads consists of, with what a perfect
// one would show. All are differences from the mean of the row, because a
// softmax ignores what a whole row has in common.
//   "output"    W_E W_V W_O W_U of the induction head [V, V]: which token's
//               logit attending to a token raises
//   "first_output" the same of the previous-token head, as a control
//   "match"     W_E (W_Q W_K^T of the induction head)
//               (W_E W_V W_O of the previous-token head)^T [V, V]: how a
//               token's query likes a key that the previous-token head has
//               written into, by the token before the key
//   "direct"    W_E W_Q W_K^T W_E^T of the induction head: the same without
//               the first head, as a control
//   "position"  W_pos W_Q W_K^T W_pos^T of the previous-token head [C, C], row
//               query, column key, keys up to the query; absent without
//               learned positions
// Each is {"largest_on_diagonal": the share of rows whose largest element is
// the diagonal one (for "position" the one before it), "diagonal_deviations":
// how many standard deviations of its row the diagonal lies above the row's
// mean, averaged over rows, "matrix"}.
Json MeasureFullCircuits(const ParameterLayout& layout,
                         absl::Span<const float> weights, const HeadPair& pair);

}  // namespace softlookup

#endif  // SOFTLOOKUP_INTERPRETABILITY_HEAD_COMPOSITION_H_
