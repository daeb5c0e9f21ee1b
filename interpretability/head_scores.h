// What a head attends to, as numbers from 0 to 1: scores that detect
// previous-token, induction and duplicate-token heads; and whether what it
// writes copies, from -1 to 1.
//
//   const double induction = PrefixMatchingScore(pattern.view(), tokens);
//
// A score says where a head reads, not what it is for: that takes an
// intervention.
#ifndef SOFTLOOKUP_INTERPRETABILITY_HEAD_SCORES_H_
#define SOFTLOOKUP_INTERPRETABILITY_HEAD_SCORES_H_

#include <complex>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "base/tensor/strided_view.h"
#include "base/tensor/tensor.h"

namespace softlookup {

// `pattern` is the weights of one head on one sequence, [T, T], row i query i;
// `tokens` are the sequence's T tokens.

// The attention of each query to the token before it: element i - 1 is
// pattern[i, i - 1], i from 1 to T - 1. The score of the head is their mean. A
// true previous-token head need not come near 1: what no later query will look
// for need not be written.
std::vector<double> PreviousTokenByPosition(
    const StridedView<const float>& pattern);
double PreviousTokenScore(const StridedView<const float>& pattern);

// Prefix matching (Olsson et al. 2022): the attention of a query to the
// positions that follow earlier copies of its token, summed over them, and
// averaged over the queries whose token has come before. 0 if there is none.
double PrefixMatchingScore(const StridedView<const float>& pattern,
                           absl::Span<const int32_t> tokens);

// The attention to the earlier copies themselves.
double DuplicateTokenScore(const StridedView<const float>& pattern,
                           absl::Span<const int32_t> tokens);

// How much a head's direct path to the logits raises the token that it
// attends to (Olsson et al. 2022): of each token of a sequence, the logits
// that attending to it alone would write, less their mean over the
// vocabulary, cut off below 0; the share of that token among the sample's
// different tokens; averaged over the tokens whose share is defined and
// rescaled from [0, 1] to [-1, 1]. `raised` [T, V] are the logits that
// attending to position t writes. 0 where no token is raised at all.
double CopyingScore(const Tensor<double>& raised,
                    absl::Span<const int32_t> tokens);

// sum of l / sum of |l| over the eigenvalues l of the full OV circuit, its real
// part (Elhage et al. 2021): 1 if every token, and every mix of tokens, raises
// itself. 0 for eigenvalues that are all 0.
double EigenvalueCopyingScore(absl::Span<const std::complex<double>> values);

}  // namespace softlookup

#endif  // SOFTLOOKUP_INTERPRETABILITY_HEAD_SCORES_H_
