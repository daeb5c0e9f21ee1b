#include "attention/score_functions.h"

#include <complex>
#include <cstdint>

#include "base/check.h"
#include "base/elementary.h"
#include "base/tensor/matrix_product.h"

namespace softlookup {
namespace {

// A vector as a matrix of one row.
template <typename T>
StridedView<const T> Row(absl::Span<const T> vector) {
  return {vector.data(), {1, static_cast<int64_t>(vector.size())}};
}

}  // namespace

template <typename T>
T AdditiveScore(const AdditiveWeights<T>& weights, absl::Span<const T> s,
                absl::Span<const T> h) {
  return AdditiveScores<T>(weights, Row(s), Row(h))[0];
}

template <typename T>
T DotScore(absl::Span<const T> s, absl::Span<const T> h) {
  return DotScores<T>(Row(s), Row(h))[0];
}

template <typename T>
T BilinearScore(absl::Span<const T> s, const Tensor<T>& w,
                absl::Span<const T> h) {
  return BilinearScores<T>(Row(s), w, Row(h))[0];
}

template <typename T>
Tensor<T> AdditiveScores(const AdditiveWeights<T>& weights,
                         const StridedView<const T>& states,
                         const StridedView<const T>& positions) {
  SOFTLOOKUP_CHECK(weights.output.shape() == Shape{weights.state.dim(0)} &&
                       weights.position.dim(0) == weights.state.dim(0),
                   "W, U and v agree on the number of units");
  // Each state and each position is projected once, not once per pair.
  const Tensor<T> from_states =
      MatrixProduct<T>(states, weights.state.view().Transpose(0, 1));
  const Tensor<T> from_positions =
      MatrixProduct<T>(positions, weights.position.view().Transpose(0, 1));
  Tensor<T> scores({states.dim(0), positions.dim(0)});
  for (int64_t i = 0; i < states.dim(0); ++i) {
    for (int64_t j = 0; j < positions.dim(0); ++j) {
      for (int64_t a = 0; a < weights.output.dim(0); ++a) {
        scores(i, j) +=
            weights.output[a] * Tanh(from_states(i, a) + from_positions(j, a));
      }
    }
  }
  return scores;
}

template <typename T>
Tensor<T> DotScores(const StridedView<const T>& states,
                    const StridedView<const T>& positions) {
  return MatrixProduct<T>(states, positions.Transpose(0, 1));
}

template <typename T>
Tensor<T> BilinearScores(const StridedView<const T>& states, const Tensor<T>& w,
                         const StridedView<const T>& positions) {
  const Tensor<T> projected = MatrixProduct<T>(states, w.view());
  return DotScores<T>(projected.view(), positions);
}

template <typename T>
std::vector<T> ContextVector(absl::Span<const T> p,
                             const StridedView<const T>& positions) {
  return MatrixProduct<T>(Row(p), positions).elements();
}

#define SOFTLOOKUP_INSTANTIATE(T)                                           \
  template T AdditiveScore(const AdditiveWeights<T>& weights,               \
                           absl::Span<const T> s, absl::Span<const T> h);   \
  template T DotScore(absl::Span<const T> s, absl::Span<const T> h);        \
  template T BilinearScore(absl::Span<const T> s, const Tensor<T>& w,       \
                           absl::Span<const T> h);                          \
  template Tensor<T> AdditiveScores(const AdditiveWeights<T>& weights,      \
                                    const StridedView<const T>& states,     \
                                    const StridedView<const T>& positions); \
  template Tensor<T> DotScores(const StridedView<const T>& states,          \
                               const StridedView<const T>& positions);      \
  template Tensor<T> BilinearScores(const StridedView<const T>& states,     \
                                    const Tensor<T>& w,                     \
                                    const StridedView<const T>& positions); \
  template std::vector<T> ContextVector(absl::Span<const T> p,              \
                                        const StridedView<const T>& positions)
SOFTLOOKUP_INSTANTIATE(float);
SOFTLOOKUP_INSTANTIATE(double);
SOFTLOOKUP_INSTANTIATE(std::complex<double>);
#undef SOFTLOOKUP_INSTANTIATE

}  // namespace softlookup
