#include "attention/textbook/hand_attention.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "attention/softmax.h"
#include "base/check.h"
#include "base/tensor/shape.h"

namespace softlookup {
namespace {

// Row r of a tensor seen as rows of its last dimension.
template <typename T>
absl::Span<const T> Row(const Tensor<T>& tensor, int64_t r) {
  const int64_t width = tensor.shape().back();
  return {tensor.data() + r * width, static_cast<size_t>(width)};
}

// The mask, with ones in front of its shape, repeated over `shape`.
template <typename M>
StridedView<const M> Broadcast(const Tensor<M>& mask, const Shape& shape) {
  Shape full(shape.size() - mask.shape().size(), 1);
  full.insert(full.end(), mask.shape().begin(), mask.shape().end());
  const auto view = StridedView<const M>(mask.data(), full).BroadcastTo(shape);
  SOFTLOOKUP_CHECK(view.ok(), "a mask that broadcasts to the scores");
  return *view;
}

}  // namespace

template <typename T>
Tensor<T> BatchedProduct(const StridedView<const T>& a,
                         const StridedView<const T>& b) {
  Tensor<T> product({a.dim(0), a.dim(1), a.dim(2), b.dim(3)});
  for (int64_t n = 0; n < a.dim(0); ++n) {
    for (int64_t h = 0; h < a.dim(1); ++h) {
      for (int64_t i = 0; i < a.dim(2); ++i) {
        for (int64_t j = 0; j < b.dim(3); ++j) {
          T sum = 0;
          for (int64_t c = 0; c < a.dim(3); ++c) {
            sum += a(n, h, i, c) * b(n, h, c, j);
          }
          product(n, h, i, j) = sum;
        }
      }
    }
  }
  return product;
}

template <typename T>
Tensor<T> HandScores(const StridedView<const T>& query,
                     const StridedView<const T>& key) {
  Tensor<T> scores = BatchedProduct(query, key.Transpose(2, 3));
  const T root = std::sqrt(static_cast<T>(query.dim(3)));
  for (T& score : scores.elements()) score /= root;
  return scores;
}

template <typename T>
Tensor<T> MaskedFill(Tensor<T> scores, const BooleanMask& mask, T forbidden) {
  ForEachElement(
      [forbidden](T& score, uint8_t allowed) {
        if (allowed == 0) score = forbidden;
      },
      scores.view(), Broadcast(mask, scores.shape()));
  return scores;
}

template <typename T>
Tensor<T> AdditiveMask(const BooleanMask& mask, T forbidden) {
  Tensor<T> additive(mask.shape());
  for (int64_t n = 0; n < mask.size(); ++n) {
    additive[n] = mask[n] != 0 ? T(0) : forbidden;
  }
  return additive;
}

template <typename T>
Tensor<T> AddMask(Tensor<T> scores, const Tensor<T>& additive) {
  ForEachElement([](T& score, T bias) { score += bias; }, scores.view(),
                 Broadcast(additive, scores.shape()));
  return scores;
}

template <typename T>
Tensor<T> HandSoftmax(const Tensor<T>& scores) {
  const int64_t width = scores.shape().back();
  Tensor<T> weights(scores.shape());
  for (int64_t r = 0; r < scores.size() / width; ++r) {
    const std::vector<T> row = Softmax<T>(Row(scores, r));
    for (int64_t j = 0; j < width; ++j) weights[r * width + j] = row[j];
  }
  return weights;
}

template <typename T>
Tensor<T> HandScoreGradient(const Tensor<T>& weights,
                            const StridedView<const T>& value,
                            const Tensor<T>& output_gradient) {
  // O = P V
  const Tensor<T> weight_gradient =
      BatchedProduct(output_gradient.view(), value.Transpose(2, 3));
  // P = softmax(S)
  const int64_t width = weights.shape().back();
  Tensor<T> score_gradient(weights.shape());
  for (int64_t r = 0; r < weights.size() / width; ++r) {
    const std::vector<T> row =
        SoftmaxJacobianProduct<T>(Row(weights, r), Row(weight_gradient, r));
    for (int64_t j = 0; j < width; ++j) score_gradient[r * width + j] = row[j];
  }
  return score_gradient;
}

#define SOFTLOOKUP_INSTANTIATE(T)                                          \
  template Tensor<T> HandScores(const StridedView<const T>& query,         \
                                const StridedView<const T>& key);          \
  template Tensor<T> MaskedFill(Tensor<T> scores, const BooleanMask& mask, \
                                T forbidden);                              \
  template Tensor<T> AdditiveMask(const BooleanMask& mask, T forbidden);   \
  template Tensor<T> AddMask(Tensor<T> scores, const Tensor<T>& additive); \
  template Tensor<T> HandSoftmax(const Tensor<T>& scores);                 \
  template Tensor<T> HandScoreGradient(const Tensor<T>& weights,           \
                                       const StridedView<const T>& value,  \
                                       const Tensor<T>& output_gradient)
SOFTLOOKUP_INSTANTIATE(float);
SOFTLOOKUP_INSTANTIATE(double);
#undef SOFTLOOKUP_INSTANTIATE

}  // namespace softlookup
