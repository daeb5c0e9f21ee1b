// The score functions that attention started from, and the context vector.
//
//   additive   v^T tanh(W s + U h)     Bahdanau, Cho and Bengio 2015
//   dot        s^T h                   Luong, Pham and Manning 2015
//   bilinear   s^T W h                 Luong, Pham and Manning 2015
//
// s is the decoder's state, h_j the encoder's at position j; a softmax over
// the scores of all positions weights the h_j into the context vector. Each
// function comes for one pair and for all pairs of n states and T positions;
// for the multiplicative ones the latter is a matrix product, S H^T or
// (S W) H^T. Both give the same bits.
//
//   Tensor<double> scores = BilinearScores<double>(s.view(), w, h.view());
//   std::vector<double> p = Softmax<double>(row of scores);
//   std::vector<double> context = ContextVector<double>(p, h.view());
//
// T is float, double or std::complex<double>. Sizes must agree (checked).
// Source: the chapter, introduction.
#ifndef SOFTLOOKUP_ATTENTION_SCORE_FUNCTIONS_H_
#define SOFTLOOKUP_ATTENTION_SCORE_FUNCTIONS_H_

#include <vector>

#include "absl/types/span.h"
#include "base/tensor/strided_view.h"
#include "base/tensor/tensor.h"

namespace softlookup {

// The small network of the additive score, A units wide.
template <typename T>
struct AdditiveWeights {
  Tensor<T> state;     // W, [A, Ds]
  Tensor<T> position;  // U, [A, Dh]
  Tensor<T> output;    // v, [A]
};

// v^T tanh(W s + U h), of s, [Ds], and h, [Dh].
template <typename T>
T AdditiveScore(const AdditiveWeights<T>& weights, absl::Span<const T> s,
                absl::Span<const T> h);

// s^T h, both [D].
template <typename T>
T DotScore(absl::Span<const T> s, absl::Span<const T> h);

// s^T W h, of s, [Ds], W, [Ds, Dh], and h, [Dh].
template <typename T>
T BilinearScore(absl::Span<const T> s, const Tensor<T>& w,
                absl::Span<const T> h);

// All pairs at once, [n, T], of states, [n, Ds], and positions, [T, Dh].
template <typename T>
Tensor<T> AdditiveScores(const AdditiveWeights<T>& weights,
                         const StridedView<const T>& states,
                         const StridedView<const T>& positions);
template <typename T>
Tensor<T> DotScores(const StridedView<const T>& states,
                    const StridedView<const T>& positions);
template <typename T>
Tensor<T> BilinearScores(const StridedView<const T>& states, const Tensor<T>& w,
                         const StridedView<const T>& positions);

// sum_j p_j h_j, [Dh], of weights p, [T], and positions, [T, Dh].
template <typename T>
std::vector<T> ContextVector(absl::Span<const T> p,
                             const StridedView<const T>& positions);

}  // namespace softlookup

#endif  // SOFTLOOKUP_ATTENTION_SCORE_FUNCTIONS_H_
