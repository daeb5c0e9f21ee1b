// Singular values, eigenvalues and numerical rank of small dense matrices.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(std::vector<double> sigma,
//                               SingularValues(matrix.view()));
//   int64_t rank = NumericalRank(sigma, RankTolerance(sigma, rows, columns));
//
// The algorithms are Eigen's; they are behind this header, and in one source
// file, because they take long to compile.
#ifndef SOFTLOOKUP_BASE_TENSOR_LINEAR_ALGEBRA_H_
#define SOFTLOOKUP_BASE_TENSOR_LINEAR_ALGEBRA_H_

#include <complex>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/tensor/strided_view.h"

namespace softlookup {

// The singular values of a matrix, [min(rows, columns)], largest first.
// InvalidArgument unless it has rank 2, at least one element and finite
// elements only.
absl::StatusOr<std::vector<double>> SingularValues(
    const StridedView<const double>& matrix);

// The eigenvalues of a square matrix, [n], by decreasing modulus; of a
// conjugate pair the one with positive imaginary part comes first.
// InvalidArgument unless it is square with finite elements; Internal if the
// iteration does not converge.
absl::StatusOr<std::vector<std::complex<double>>> Eigenvalues(
    const StridedView<const double>& matrix);

// max(rows, columns) * 2^-52 * (the largest singular value): below it a
// singular value may be nothing but the rounding error of the matrix.
double RankTolerance(absl::Span<const double> singular_values, int64_t rows,
                     int64_t columns);

// The number of singular values above the tolerance.
int64_t NumericalRank(absl::Span<const double> singular_values,
                      double tolerance);

}  // namespace softlookup

#endif  // SOFTLOOKUP_BASE_TENSOR_LINEAR_ALGEBRA_H_
