// The product of two matrices, each element summed in index order.
//
//   Tensor<double> y = MatrixProduct<double>(x.view(), w.view());
//   Tensor<double> s =
//       MatrixProduct<double>(q.view(), k.view().Transpose(0, 1));   // Q K^T
//
// Element (i, j) is ((a_i0 b_0j + a_i1 b_1j) + a_i2 b_2j) + ... whatever the
// sizes, the strides and the processor, so a row of a product has the bits
// that a product of that row alone has.
#ifndef SOFTLOOKUP_BASE_TENSOR_MATRIX_PRODUCT_H_
#define SOFTLOOKUP_BASE_TENSOR_MATRIX_PRODUCT_H_

#include "base/tensor/strided_view.h"
#include "base/tensor/tensor.h"

namespace softlookup {

// A B, [n, m], of A, [n, k], and B, [k, m]; T is float, double or
// std::complex<double> (no conjugation). The inner sizes must agree.
template <typename T>
Tensor<T> MatrixProduct(const StridedView<const T>& a,
                        const StridedView<const T>& b);

}  // namespace softlookup

#endif  // SOFTLOOKUP_BASE_TENSOR_MATRIX_PRODUCT_H_
