// The same results by other orders of work: a loop against a product, a loop
// against a scan.
//
// When a score depends on the key alone, causal attention is a running
// weighted average,
//
//   o_t = sum_{j <= t} exp(s_j) v_j / sum_{j <= t} exp(s_j),
//
// which a recurrence can carry along in a state of constant size (the largest
// score so far, the sum and the average).
//
// In a linear recurrence,
//
//   h_t = a_t h_{t-1} + b_t      elementwise over d channels, h_0 = 0,
//
// two steps in a row are one step of the same form,
// (a, b) then (a', b') = (a' a, a' b + b'), and this composition is
// associative: in round r every position combines its last 2^r steps with the
// 2^r before them, all positions at once, so that ceil(log2 T) rounds reach
// every prefix (Hillis and Steele 1986; Blelloch 1990). A step with a
// nonlinearity inside has no such short form.
//
//   Tensor<double> o = RunningAverage<double>(scores, values);   // [T, d_v]
//   Tensor<double> h = LinearRecurrence<double>(a, b);
//   Tensor<double> same = LinearScan<double>(a, b);
//
// T is double or Traced; each step of a loop and each round of the scan passes
// Update.
//
// Source: the chapter, section 1, on one matrix product in place of T
// dependent steps, and on state-space models.
#ifndef SOFTLOOKUP_EXPERIMENTS_LAYER_COST_MIXING_H_
#define SOFTLOOKUP_EXPERIMENTS_LAYER_COST_MIXING_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "base/tensor/tensor.h"

namespace softlookup {

// o_1 to o_T, [T, d_v], from scores, [T], and values, [T, d_v].
template <typename T>
Tensor<T> RunningAverage(const std::vector<T>& scores, const Tensor<T>& values);

// h_1 to h_T, [T, d], from a and b, [T, d], in T dependent steps.
template <typename T>
Tensor<T> LinearRecurrence(const Tensor<T>& a, const Tensor<T>& b);

// The same states in ceil(log2 T) dependent rounds. An element is a sum of
// products like b_j a_{j+1} ... a_t; either way rounds each of these factors
// and partial sums once, so the two differ by at most 3 T + log2 T units of
// 2^-53 of the sum of the products' absolute values.
template <typename T>
Tensor<T> LinearScan(const Tensor<T>& a, const Tensor<T>& b);

struct MixingOptions {
  int64_t positions = 0;  // T
  int64_t width = 0;      // d
  uint64_t seed = 1;
};

struct MixingInputs {
  Tensor<double> query;   // [1, d]: one for every position
  Tensor<double> keys;    // [T, d]
  Tensor<double> values;  // [T, d]
};

MixingInputs DrawMixingInputs(const MixingOptions& options);

// Causal attention as T dependent steps (RunningAverage) and as one product
// P V.
struct MixingResults {
  int64_t positions = 0;
  int64_t width = 0;
  int64_t steps_of_the_loop = 0;  // that wait for one another
  // Of the loop from the product, over the largest |value|.
  double deviation = 0;
  // Of rows computed one by one, last first, from all rows at once.
  double rows_alone_deviation = 0;
};

// InvalidArgument as the reference gives it.
absl::StatusOr<MixingResults> MeasureMixing(const MixingInputs& inputs);

struct ScanInputs {
  Tensor<double> decay;  // a, [T, d], in (0, 1)
  Tensor<double> input;  // b, [T, d]
};

ScanInputs DrawScanInputs(const MixingOptions& options);

struct ScanResults {
  int64_t positions = 0;
  int64_t width = 0;
  int64_t steps_of_the_loop = 0;
  int64_t rounds_of_the_scan = 0;
  int64_t rounds_deviation = 0;  // from ceil(log2 T)
  // Of the scan from the loop, over the sum of the terms' absolute values.
  double deviation = 0;
};

ScanResults MeasureScan(const ScanInputs& inputs);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_LAYER_COST_MIXING_H_
