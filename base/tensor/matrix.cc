#include "base/tensor/matrix.h"

#include "absl/types/span.h"
#include "base/tensor/matrix_product.h"
#include "base/tensor/shape.h"

namespace softlookup {
namespace {

// The lists of the elements from `offset` on, along `axis` and those after.
Json Lists(const Tensor<double>& tensor, size_t axis, int64_t offset,
           const Shape& strides) {
  if (axis == tensor.shape().size()) return tensor[offset];
  Json list = Json::array();
  for (int64_t i = 0; i < tensor.shape()[axis]; ++i) {
    list.push_back(
        Lists(tensor, axis + 1, offset + i * strides[axis], strides));
  }
  return list;
}

}  // namespace

Tensor<double> GaussianMatrix(RandomStream& stream, int64_t rows,
                              int64_t columns, double standard_deviation) {
  Tensor<double> matrix({rows, columns});
  stream.FillGaussian(absl::MakeSpan(matrix.elements()));
  for (double& x : matrix.elements()) x *= standard_deviation;
  return matrix;
}

Tensor<double> MatrixProduct(const Tensor<double>& a, const Tensor<double>& b) {
  return MatrixProduct<double>(a.view(), b.view());
}

Tensor<double> Transposed(const Tensor<double>& a) {
  return Copy(a.view().Transpose(0, 1));
}

Json NestedLists(const Tensor<double>& tensor) {
  return Lists(tensor, 0, 0, ContiguousStrides(tensor.shape()));
}

}  // namespace softlookup
