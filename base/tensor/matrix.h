// Small matrices in experiments: draw, multiply, compare, write as JSON.
//
//   RandomStream stream(seed, "projections");
//   const Tensor<double> w = GaussianMatrix(stream, 6, 3, 1 / std::sqrt(6.0));
//   const Tensor<double> q = MatrixProduct(x, w);          // [T, 6] [6, 3]
//   results["queries"] = NestedLists(q);
//
// Sums run in index order, so that the bits are the same everywhere.
#ifndef SOFTLOOKUP_BASE_TENSOR_MATRIX_H_
#define SOFTLOOKUP_BASE_TENSOR_MATRIX_H_

#include <cstdint>

#include "base/json.h"
#include "base/random/random.h"
#include "base/tensor/deviation.h"
#include "base/tensor/tensor.h"

namespace softlookup {

// [rows, columns] of independent normals with mean 0 and this standard
// deviation.
Tensor<double> GaussianMatrix(RandomStream& stream, int64_t rows,
                              int64_t columns, double standard_deviation);

// A B, [m, n] from [m, k] and [k, n]: base/tensor/matrix_product.h for whole
// tensors.
Tensor<double> MatrixProduct(const Tensor<double>& a, const Tensor<double>& b);

// A^T, [n, m] from [m, n].
Tensor<double> Transposed(const Tensor<double>& a);

// A tensor of any rank as nested lists.
Json NestedLists(const Tensor<double>& tensor);

}  // namespace softlookup

#endif  // SOFTLOOKUP_BASE_TENSOR_MATRIX_H_
