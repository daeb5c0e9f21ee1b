// Attention by hand: scores, mask, softmax, average, each a whole tensor.
//
//   Tensor<double> s = HandScores<double>(q.view(), k.view());
//   s = MaskedFill(s, mask, -infinity);            // or AddMask(s, additive)
//   Tensor<double> p = HandSoftmax(s);
//   Tensor<double> y = BatchedProduct<double>(p.view(), v.view());
//
// This is what a listing does, with a listing's weaknesses: nothing is skipped
// for being masked. A row of nothing but -inf gives 0 / 0, and a weight of
// zero still multiplies its value, so that a NaN there spreads. The oracle in
// attention/reference has neither weakness.
//
// T is float or double. All sums run in index order.
//
// Source: the chapter, section 2, on masks and numerical safety.
#ifndef SOFTLOOKUP_ATTENTION_TEXTBOOK_HAND_ATTENTION_H_
#define SOFTLOOKUP_ATTENTION_TEXTBOOK_HAND_ATTENTION_H_

#include "attention/textbook/boolean_mask.h"
#include "base/tensor/strided_view.h"
#include "base/tensor/tensor.h"

namespace softlookup {

// a @ b for every leading pair of indices: [B, H, m, k] times [B, H, k, n] ->
// [B, H, m, n].
template <typename T>
Tensor<T> BatchedProduct(const StridedView<const T>& a,
                         const StridedView<const T>& b);

// S = Q K^T / sqrt(D): query [B, H, Tq, D], key [B, H, Tk, D] -> [B, H, Tq,
// Tk].
template <typename T>
Tensor<T> HandScores(const StridedView<const T>& query,
                     const StridedView<const T>& key);

// `forbidden` where the mask is 0; the mask broadcasts to the scores' shape.
template <typename T>
Tensor<T> MaskedFill(Tensor<T> scores, const BooleanMask& mask, T forbidden);

// The additive form of a mask: 0 where it is 1, `forbidden` where it is 0.
template <typename T>
Tensor<T> AdditiveMask(const BooleanMask& mask, T forbidden);

// scores + additive, which broadcasts to the scores' shape.
template <typename T>
Tensor<T> AddMask(Tensor<T> scores, const Tensor<T>& additive);

// The softmax of each row of [B, H, Tq, Tk], -inf entries included.
template <typename T>
Tensor<T> HandSoftmax(const Tensor<T>& scores);

// dL/dS, [B, H, Tq, Tk], from dL/dO, [B, H, Tq, Dv].
template <typename T>
Tensor<T> HandScoreGradient(const Tensor<T>& weights,
                            const StridedView<const T>& value,
                            const Tensor<T>& output_gradient);

}  // namespace softlookup

#endif  // SOFTLOOKUP_ATTENTION_TEXTBOOK_HAND_ATTENTION_H_
