#include "base/tensor/linear_algebra.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "Eigen/Core"
#include "Eigen/Eigenvalues"
#include "Eigen/SVD"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/tensor/shape.h"

// Both algorithms work by rotations, reflections and matrix-vector products
// in a fixed order. Neither runs Eigen's blocked matrix product, which cuts
// its sums by the size of the processor's caches: JacobiSVD (BDCSVD would)
// and EigenSolver without eigenvectors. Eigen is compiled without vector code
// (third_party/eigen.BUILD), so the bits do not follow the instruction set.
namespace softlookup {
namespace {

absl::StatusOr<Eigen::MatrixXd> FiniteMatrix(
    const StridedView<const double>& view) {
  if (view.rank() != 2 || view.dim(0) < 1 || view.dim(1) < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("matrix has shape ", ShapeString(view.shape()),
                     "; allowed: rank 2, each dimension at least 1"));
  }
  Eigen::MatrixXd matrix(view.dim(0), view.dim(1));
  for (int64_t i = 0; i < view.dim(0); ++i) {
    for (int64_t j = 0; j < view.dim(1); ++j) {
      if (!std::isfinite(view(i, j))) {
        return absl::InvalidArgumentError(
            absl::StrCat("matrix[", i, ", ", j, "] is ", view(i, j),
                         "; allowed: finite numbers"));
      }
      matrix(i, j) = view(i, j);
    }
  }
  return matrix;
}

}  // namespace

absl::StatusOr<std::vector<double>> SingularValues(
    const StridedView<const double>& matrix) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const Eigen::MatrixXd dense,
                              FiniteMatrix(matrix));
  const Eigen::VectorXd values =
      Eigen::JacobiSVD<Eigen::MatrixXd>(dense).singularValues();
  return std::vector<double>(values.begin(), values.end());
}

absl::StatusOr<std::vector<std::complex<double>>> Eigenvalues(
    const StridedView<const double>& matrix) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const Eigen::MatrixXd dense,
                              FiniteMatrix(matrix));
  if (dense.rows() != dense.cols()) {
    return absl::InvalidArgumentError(
        absl::StrCat("matrix has shape ", ShapeString(matrix.shape()),
                     "; allowed: a square matrix"));
  }
  const Eigen::EigenSolver<Eigen::MatrixXd> solver(
      dense, /*computeEigenvectors=*/false);
  if (solver.info() != Eigen::Success) {
    return absl::InternalError(
        absl::StrCat("the eigenvalues of a matrix of shape ",
                     ShapeString(matrix.shape()), " did not converge"));
  }
  std::vector<std::complex<double>> eigenvalues(solver.eigenvalues().begin(),
                                                solver.eigenvalues().end());
  std::stable_sort(
      eigenvalues.begin(), eigenvalues.end(),
      [](const std::complex<double>& a, const std::complex<double>& b) {
        if (std::norm(a) != std::norm(b)) {
          return std::norm(a) > std::norm(b);
        }
        if (a.real() != b.real()) return a.real() > b.real();
        return a.imag() > b.imag();
      });
  return eigenvalues;
}

double RankTolerance(absl::Span<const double> singular_values, int64_t rows,
                     int64_t columns) {
  return static_cast<double>(std::max(rows, columns)) *
         std::numeric_limits<double>::epsilon() * singular_values[0];
}

int64_t NumericalRank(absl::Span<const double> singular_values,
                      double tolerance) {
  return std::count_if(singular_values.begin(), singular_values.end(),
                       [tolerance](double value) { return value > tolerance; });
}

}  // namespace softlookup
