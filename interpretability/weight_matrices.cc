#include "interpretability/weight_matrices.h"

#include "base/check.h"
#include "base/tensor/matrix.h"
#include "base/tensor/shape.h"
#include "base/tensor/strided_view.h"
#include "model/ablation.h"

namespace softlookup {
namespace {

Tensor<double> ToDouble(const StridedView<const float>& view) {
  Tensor<double> matrix(view.shape());
  ForEachElement([](double& to, float from) { to = from; }, matrix.view(),
                 view);
  return matrix;
}

}  // namespace

Tensor<double> WeightMatrices::Matrix(const std::string& name) const {
  const ParameterTensor* tensor = layout_.Find(name);
  SOFTLOOKUP_CHECK(tensor != nullptr, "a parameter that the model has");
  return ToDouble(layout_.View(*tensor, weights_.data()));
}

Tensor<double> WeightMatrices::Embedding() const { return Matrix("embed.W_E"); }

Tensor<double> WeightMatrices::Unembedding() const {
  return layout_.config().tied ? Transposed(Embedding())
                               : Matrix("unembed.W_U");
}

Tensor<double> WeightMatrices::Positions() const {
  return Matrix("pos_embed.W_pos");
}

Tensor<double> WeightMatrices::Head(int64_t layer, const std::string& name,
                                    int64_t head) const {
  const ParameterTensor* tensor = layout_.Find(AttentionPoint(layer, name));
  SOFTLOOKUP_CHECK(tensor != nullptr, "a parameter that the model has");
  const StridedView<const float> heads = layout_.View(*tensor, weights_.data());
  const int64_t index = head * heads.dim(0) / layout_.config().n_heads;
  return ToDouble(
      {&heads(index, 0, 0),
       {{heads.dim(1), heads.dim(2)}, {heads.stride(1), heads.stride(2)}}});
}

Tensor<double> WeightMatrices::QueryKey(int64_t layer, int64_t head) const {
  return MatrixProduct(Head(layer, "W_Q", head),
                       Transposed(Head(layer, "W_K", head)));
}

Tensor<double> WeightMatrices::OutputValue(int64_t layer, int64_t head) const {
  return MatrixProduct(Head(layer, "W_V", head), Head(layer, "W_O", head));
}

}  // namespace softlookup
