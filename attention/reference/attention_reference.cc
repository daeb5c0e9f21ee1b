#include "attention/reference/attention_reference.h"

#include <complex>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "Eigen/Core"
#include "absl/strings/str_cat.h"
#include "attention/softmax.h"
#include "base/elementary.h"
#include "base/saturating.h"
#include "base/status.h"

// Eigen holds the matrices, but its `*` for two matrices is not used: that
// product cuts its sums into blocks sized by the processor's caches, so the
// last bits would depend on the machine, and it multiplies masked entries,
// where 0 * NaN = NaN. Below, every product is a sum of scaled rows or of
// outer products, taken in index order. Those are elementwise operations,
// which have the same bits for any vector width, alignment and cache.
namespace softlookup::reference {
namespace {

template <typename T>
using Matrix =
    Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

using Strides = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;

template <typename T>
using ConstMatrixMap = Eigen::Map<const Matrix<T>, Eigen::Unaligned, Strides>;

template <typename T>
using MatrixMap = Eigen::Map<Matrix<T>>;

// The [T, D] matrix of batch entry b and head h.
template <typename T>
ConstMatrixMap<T> HeadMatrix(const StridedView<const T>& view, int64_t b,
                             int64_t h) {
  return ConstMatrixMap<T>(
      view.data() + b * view.stride(0) + h * view.stride(1), view.dim(2),
      view.dim(3), Strides(view.stride(2), view.stride(3)));
}

template <typename T>
MatrixMap<T> HeadMatrix(Tensor<T>& tensor, int64_t b, int64_t h) {
  return MatrixMap<T>(&tensor(b, h, 0, 0), tensor.dim(2), tensor.dim(3));
}

// A B^T: element (i, j) is row i of A times row j of B and touches no other.
template <typename A, typename B>
Matrix<typename A::Scalar> RowProducts(const A& a, const B& b) {
  Matrix<typename A::Scalar> product =
      Matrix<typename A::Scalar>::Zero(a.rows(), b.rows());
  for (Eigen::Index k = 0; k < a.cols(); ++k) {
    product.noalias() += a.col(k) * b.col(k).transpose();
  }
  return product;
}

// The keys that each query sees.
using VisibleKeys = std::vector<std::vector<int64_t>>;

template <typename T>
VisibleKeys FindVisibleKeys(const AttentionInputs<T>& inputs,
                            const AttentionSizes& sizes, int64_t b, int64_t h) {
  VisibleKeys visible(sizes.queries);
  for (int64_t i = 0; i < sizes.queries; ++i) {
    for (int64_t j = 0; j < sizes.keys; ++j) {
      if (SeesKey(inputs, sizes, b, h, i, j)) visible[i].push_back(j);
    }
  }
  return visible;
}

// The elements of row i at the given columns.
template <typename T>
std::vector<T> Gather(const Matrix<T>& matrix, int64_t i,
                      const std::vector<int64_t>& columns) {
  std::vector<T> elements;
  elements.reserve(columns.size());
  for (const int64_t j : columns) elements.push_back(matrix(i, j));
  return elements;
}

template <typename T>
void Scatter(const std::vector<T>& elements, int64_t i,
             const std::vector<int64_t>& columns, Matrix<T>& matrix) {
  for (size_t n = 0; n < columns.size(); ++n) {
    matrix(i, columns[n]) = elements[n];
  }
}

// The attention pattern of one head.
template <typename T>
struct Pattern {
  VisibleKeys visible;
  Matrix<T> weights;           // P, [Tq, Tk]; 0 where a key is not visible
  std::vector<T> log_sum_exp;  // [Tq]
};

template <typename T>
absl::StatusOr<Pattern<T>> HeadPattern(const AttentionInputs<T>& inputs,
                                       const AttentionOptions& options,
                                       const AttentionSizes& sizes, int64_t b,
                                       int64_t h) {
  using Real = decltype(RealPart(T()));
  const Real scale = static_cast<Real>(AttentionScale(options, sizes.width));
  // S = Q K^T scale + bias
  Matrix<T> scores = RowProducts(HeadMatrix(inputs.query, b, h),
                                 HeadMatrix(inputs.key, b, sizes.KeyHead(h))) *
                     scale;
  if (inputs.bias.has_value()) {
    for (int64_t i = 0; i < sizes.queries; ++i) {
      for (int64_t j = 0; j < sizes.keys; ++j) {
        scores(i, j) += BroadcastElement(*inputs.bias, b, h, i, j);
      }
    }
  }
  // P = softmax(S), each row over the keys that it sees.
  Pattern<T> pattern;
  pattern.visible = FindVisibleKeys(inputs, sizes, b, h);
  pattern.weights = Matrix<T>::Zero(sizes.queries, sizes.keys);
  for (int64_t i = 0; i < sizes.queries; ++i) {
    const std::vector<T> row = Gather(scores, i, pattern.visible[i]);
    if (row.empty() && options.fully_masked == FullyMasked::kError) {
      return FullyMaskedRowError(b, h, i);
    }
    if (row.empty() && options.fully_masked == FullyMasked::kNaN) {
      pattern.weights.row(i).setConstant(
          T(std::numeric_limits<Real>::quiet_NaN()));
    }
    pattern.log_sum_exp.push_back(LogSumExp<T>(row));
    Scatter(Softmax<T>(row), i, pattern.visible[i], pattern.weights);
  }
  return pattern;
}

}  // namespace

template <typename T>
absl::StatusOr<AttentionOutputs<T>> AttentionForward(
    const AttentionInputs<T>& inputs, const AttentionOptions& options) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const AttentionSizes sizes,
                              CheckAttention(inputs, options));
  AttentionOutputs<T> outputs;
  outputs.output = Tensor<T>(
      {sizes.batch, sizes.query_heads, sizes.queries, sizes.value_width});
  outputs.log_sum_exp =
      Tensor<T>({sizes.batch, sizes.query_heads, sizes.queries});
  if (options.weights) outputs.weights = Tensor<T>(sizes.ScoreShape());
  for (int64_t b = 0; b < sizes.batch; ++b) {
    for (int64_t h = 0; h < sizes.query_heads; ++h) {
      SOFTLOOKUP_ASSIGN_OR_RETURN(const Pattern<T> pattern,
                                  HeadPattern(inputs, options, sizes, b, h));
      // O = P V
      const auto value = HeadMatrix(inputs.value, b, sizes.KeyHead(h));
      MatrixMap<T> output = HeadMatrix(outputs.output, b, h);
      for (int64_t i = 0; i < sizes.queries; ++i) {
        for (const int64_t j : pattern.visible[i]) {
          output.row(i) += pattern.weights(i, j) * value.row(j);
        }
        if (pattern.visible[i].empty() &&
            options.fully_masked == FullyMasked::kNaN) {
          output.row(i).setConstant(pattern.weights(i, 0));
        }
        outputs.log_sum_exp(b, h, i) = pattern.log_sum_exp[i];
      }
      if (options.weights) {
        HeadMatrix(*outputs.weights, b, h) = pattern.weights;
      }
    }
  }
  return outputs;
}

template <typename T>
absl::StatusOr<AttentionGradients<T>> AttentionBackward(
    const AttentionInputs<T>& inputs, const AttentionOptions& options,
    const ConstView<T>& output_gradient) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const AttentionSizes sizes,
      CheckAttentionBackward(inputs, options, output_gradient));
  using Real = decltype(RealPart(T()));
  const Real scale = static_cast<Real>(AttentionScale(options, sizes.width));
  AttentionGradients<T> gradients;
  gradients.query = Tensor<T>(inputs.query.shape());
  gradients.key = Tensor<T>(inputs.key.shape());
  gradients.value = Tensor<T>(inputs.value.shape());
  StridedView<T> bias_gradient;  // repeated over the scores' shape
  if (inputs.bias.has_value()) {
    gradients.bias = Tensor<T>(inputs.bias->shape());
    bias_gradient =
        gradients.bias->view().BroadcastTo(sizes.ScoreShape()).value();
  }
  for (int64_t b = 0; b < sizes.batch; ++b) {
    for (int64_t h = 0; h < sizes.query_heads; ++h) {
      const int64_t key_head = sizes.KeyHead(h);
      const auto query = HeadMatrix(inputs.query, b, h);
      const auto key = HeadMatrix(inputs.key, b, key_head);
      const auto value = HeadMatrix(inputs.value, b, key_head);
      const auto d_output = HeadMatrix(output_gradient, b, h);
      MatrixMap<T> d_query = HeadMatrix(gradients.query, b, h);
      MatrixMap<T> d_key = HeadMatrix(gradients.key, b, key_head);
      MatrixMap<T> d_value = HeadMatrix(gradients.value, b, key_head);
      SOFTLOOKUP_ASSIGN_OR_RETURN(const Pattern<T> pattern,
                                  HeadPattern(inputs, options, sizes, b, h));
      // O = P V
      const Matrix<T> d_weights = RowProducts(d_output, value);
      for (int64_t i = 0; i < sizes.queries; ++i) {
        for (const int64_t j : pattern.visible[i]) {
          d_value.row(j) += pattern.weights(i, j) * d_output.row(i);
        }
      }
      // P = softmax(S)
      Matrix<T> d_scores = Matrix<T>::Zero(sizes.queries, sizes.keys);
      for (int64_t i = 0; i < sizes.queries; ++i) {
        const std::vector<int64_t>& visible = pattern.visible[i];
        Scatter(SoftmaxJacobianProduct<T>(Gather(pattern.weights, i, visible),
                                          Gather(d_weights, i, visible)),
                i, visible, d_scores);
      }
      // S = Q K^T scale + bias
      for (int64_t i = 0; i < sizes.queries; ++i) {
        for (const int64_t j : pattern.visible[i]) {
          const T d_product = d_scores(i, j) * scale;
          d_query.row(i) += d_product * key.row(j);
          d_key.row(j) += d_product * query.row(i);
          if (inputs.bias.has_value()) {
            bias_gradient(b, h, i, j) += d_scores(i, j);
          }
        }
      }
    }
  }
  return gradients;
}

int64_t AttentionScratchBytes(const AttentionSizes& sizes,
                              int64_t element_bytes) {
  constexpr int64_t kKeyBytes = 2 * sizeof(int64_t);
  return SaturatingProduct(
      {sizes.queries, sizes.keys, 3 * element_bytes + kKeyBytes});
}

#define SOFTLOOKUP_INSTANTIATE(T)                                         \
  template absl::StatusOr<AttentionOutputs<T>> AttentionForward(          \
      const AttentionInputs<T>& inputs, const AttentionOptions& options); \
  template absl::StatusOr<AttentionGradients<T>> AttentionBackward(       \
      const AttentionInputs<T>& inputs, const AttentionOptions& options,  \
      const ConstView<T>& output_gradient)
SOFTLOOKUP_INSTANTIATE(float);
SOFTLOOKUP_INSTANTIATE(double);
SOFTLOOKUP_INSTANTIATE(std::complex<double>);
#undef SOFTLOOKUP_INSTANTIATE

}  // namespace softlookup::reference
