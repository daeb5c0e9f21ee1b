#include "interpretability/circuits.h"

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "base/tensor/linear_algebra.h"
#include "base/tensor/matrix_product.h"

namespace softlookup {
namespace {

void CheckHead(const MultiHeadWeights<double>& weights, int64_t head) {
  SOFTLOOKUP_CHECK(0 <= head && head < weights.heads, "one of the heads");
}

}  // namespace

Tensor<double> QkCircuit(const MultiHeadWeights<double>& weights,
                         int64_t head) {
  CheckHead(weights, head);
  return MatrixProduct<double>(weights.QueryBlock(head),
                               weights.KeyBlock(head).Transpose(0, 1));
}

Tensor<double> OvCircuit(const MultiHeadWeights<double>& weights,
                         int64_t head) {
  CheckHead(weights, head);
  return MatrixProduct<double>(weights.ValueBlock(head),
                               weights.OutputBlock(head));
}

absl::StatusOr<CircuitSpectrum> AnalyzeCircuit(
    const Tensor<double>& circuit, std::optional<double> tolerance) {
  if (tolerance.has_value() &&
      !(*tolerance >= 0 && std::isfinite(*tolerance))) {
    return absl::InvalidArgumentError(
        absl::StrCat("tolerance is ", *tolerance,
                     "; allowed: a finite number of at least 0"));
  }
  CircuitSpectrum spectrum;
  SOFTLOOKUP_ASSIGN_OR_RETURN(spectrum.eigenvalues,
                              Eigenvalues(circuit.view()));
  SOFTLOOKUP_ASSIGN_OR_RETURN(spectrum.singular_values,
                              SingularValues(circuit.view()));
  spectrum.tolerance = tolerance.value_or(
      RankTolerance(spectrum.singular_values, circuit.dim(0), circuit.dim(1)));
  spectrum.rank = NumericalRank(spectrum.singular_values, spectrum.tolerance);
  return spectrum;
}

}  // namespace softlookup
