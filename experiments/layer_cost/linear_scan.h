// A linear recurrence, one step after another and as a parallel scan.
//
//   h_t = a_t h_{t-1} + b_t      elementwise over d channels, h_0 = 0
//
// Two steps in a row are one step of the same form,
// (a, b) then (a', b') = (a' a, a' b + b'), and this composition is
// associative: in round r every position combines its last 2^r steps with the
// 2^r before them, all positions at once, so that ceil(log2 T) rounds reach
// every prefix (Hillis and Steele 1986; Blelloch 1990). A step with a
// nonlinearity inside has no such short form.
//
//   Tensor<double> h = LinearRecurrence<double>(a, b);
//   Tensor<double> same = LinearScan<double>(a, b);
//
// T is double or Traced; each step of the loop and each round of the scan
// passes Update.
//
// Source: the chapter, section 1, on state-space models.
#ifndef SOFTLOOKUP_EXPERIMENTS_LAYER_COST_LINEAR_SCAN_H_
#define SOFTLOOKUP_EXPERIMENTS_LAYER_COST_LINEAR_SCAN_H_

#include "base/tensor/tensor.h"

namespace softlookup {

// h_1 to h_T, [T, d], from a and b, [T, d], in T dependent steps.
template <typename T>
Tensor<T> LinearRecurrence(const Tensor<T>& a, const Tensor<T>& b);

// The same states in ceil(log2 T) dependent rounds. An element is a sum of
// products like b_j a_{j+1} ... a_t; either way rounds each of these factors
// and partial sums once, so the two differ by at most 3 T + log2 T units of
// 2^-53 of the sum of the products' absolute values.
template <typename T>
Tensor<T> LinearScan(const Tensor<T>& a, const Tensor<T>& b);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_LAYER_COST_LINEAR_SCAN_H_
