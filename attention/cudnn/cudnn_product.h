// C[M, N] = A[M, K] B[K, N], the yardstick that attention's speed is held
// against: the fastest thing that a card's matrix units do.
//
//   const MatrixProduct product = {.rows = 8192, .columns = 8192,
//                                  .inner = 8192};
//   SOFTLOOKUP_ASSIGN_OR_RETURN(auto plan,
//                               CudnnPlan::BuildProduct(product, h200));
//   double teraflops = product.Operations() / seconds * 1e-12;
#ifndef SOFTLOOKUP_ATTENTION_CUDNN_CUDNN_PRODUCT_H_
#define SOFTLOOKUP_ATTENTION_CUDNN_CUDNN_PRODUCT_H_

#include <cstdint>
#include <vector>

#include "attention/cudnn/cudnn_tensors.h"
#include "base/tensor/dtype.h"

namespace softlookup::cudnn {

// Sums are in float32.
struct MatrixProduct {
  int64_t rows = 1;     // M
  int64_t columns = 1;  // N
  int64_t inner = 1;    // K
  Dtype element = Dtype::kBF16;

  // A multiplication and an addition for each of M N K.
  double Operations() const;
};

// A [1, M, K], B [1, K, N] and C [1, M, N], row by row, by increasing id.
std::vector<CudnnTensor> ProductTensors(const MatrixProduct& product);

}  // namespace softlookup::cudnn

#endif  // SOFTLOOKUP_ATTENTION_CUDNN_CUDNN_PRODUCT_H_
