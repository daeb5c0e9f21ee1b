#include "attention/cudnn/cudnn_product.h"

#include <string>

#include "base/tensor/shape.h"

namespace softlookup::cudnn {

double MatrixProduct::Operations() const {
  return 2.0 * static_cast<double>(rows) * static_cast<double>(columns) *
         static_cast<double>(inner);
}

std::vector<CudnnTensor> ProductTensors(const MatrixProduct& product) {
  const auto tensor = [&product](CudnnTensorId id, const std::string& name,
                                 const Shape& shape, bool written) {
    return CudnnTensor{
        id, name, product.element, shape, ContiguousStrides(shape), written};
  };
  return {tensor(CudnnTensorId::kFactorA, "a", {1, product.rows, product.inner},
                 false),
          tensor(CudnnTensorId::kFactorB, "b",
                 {1, product.inner, product.columns}, false),
          tensor(CudnnTensorId::kProduct, "c",
                 {1, product.rows, product.columns}, true)};
}

}  // namespace softlookup::cudnn
