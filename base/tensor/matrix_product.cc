#include "base/tensor/matrix_product.h"

#include <complex>
#include <cstdint>

#include "base/check.h"

namespace softlookup {

template <typename T>
Tensor<T> MatrixProduct(const StridedView<const T>& a,
                        const StridedView<const T>& b) {
  SOFTLOOKUP_CHECK(a.rank() == 2 && b.rank() == 2, "two matrices");
  SOFTLOOKUP_CHECK(a.dim(1) == b.dim(0), "equal inner sizes");
  Tensor<T> product({a.dim(0), b.dim(1)});
  const int64_t columns = b.dim(1);
  const int64_t step = b.stride(1);
  for (int64_t i = 0; i < a.dim(0); ++i) {
    T* row = product.data() + i * columns;
    for (int64_t k = 0; k < a.dim(1); ++k) {
      const T factor = a(i, k);
      const T* b_row = b.data() + k * b.stride(0);
      for (int64_t j = 0; j < columns; ++j) row[j] += factor * b_row[j * step];
    }
  }
  return product;
}

#define SOFTLOOKUP_INSTANTIATE(T)                                 \
  template Tensor<T> MatrixProduct(const StridedView<const T>& a, \
                                   const StridedView<const T>& b)
SOFTLOOKUP_INSTANTIATE(float);
SOFTLOOKUP_INSTANTIATE(double);
SOFTLOOKUP_INSTANTIATE(std::complex<double>);
#undef SOFTLOOKUP_INSTANTIATE

}  // namespace softlookup
