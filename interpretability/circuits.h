// The two low-rank circuits of an attention head.
//
//   QK circuit   W_Q^(i) W_K^(i)T   [d, d]   where the head looks:
//                score of (t, s) = x_t QK x_s^T scale
//   OV circuit   W_V^(i) W_O^(i)    [d, d]   what it writes once it looks:
//                write at t = sum_s P_ts x_s OV
//
// Each passes through D (or Dv) dimensions, so its rank is at most that.
//
//   Tensor<double> qk = QkCircuit(weights, /*head=*/0);
//   SOFTLOOKUP_ASSIGN_OR_RETURN(CircuitSpectrum spectrum,
//                               AnalyzeCircuit(qk));
//   spectrum.rank;                                    // <= D
//
// Source: Elhage et al. 2021, "A Mathematical Framework for Transformer
// Circuits"; the chapter, section 4.
#ifndef SOFTLOOKUP_INTERPRETABILITY_CIRCUITS_H_
#define SOFTLOOKUP_INTERPRETABILITY_CIRCUITS_H_

#include <complex>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "attention/reference/multi_head.h"
#include "base/tensor/tensor.h"

namespace softlookup {

// The head must be one of the weights' heads (checked). With grouped heads,
// keys and values are those of the head's group.
Tensor<double> QkCircuit(const MultiHeadWeights<double>& weights, int64_t head);
Tensor<double> OvCircuit(const MultiHeadWeights<double>& weights, int64_t head);

struct CircuitSpectrum {
  std::vector<double> singular_values;            // [d], largest first
  double tolerance = 0;                           // for the rank
  int64_t rank = 0;                               // singular values above it
  std::vector<std::complex<double>> eigenvalues;  // [d], by modulus
};

// The spectrum of a [d, d] circuit. The rank counts singular values above the
// tolerance, by default d * 2^-52 * (the largest one), about what rounding
// leaves where exact arithmetic has a zero. InvalidArgument for a matrix that
// is not square, not finite or empty, and a tolerance that is negative or not
// finite.
absl::StatusOr<CircuitSpectrum> AnalyzeCircuit(
    const Tensor<double>& circuit, std::optional<double> tolerance = {});

}  // namespace softlookup

#endif  // SOFTLOOKUP_INTERPRETABILITY_CIRCUITS_H_
