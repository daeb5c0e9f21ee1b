// The same mixing as attention's, one position after another.
//
// When a score depends on the key alone, causal attention is a running
// weighted average,
//
//   o_t = sum_{j <= t} exp(s_j) v_j / sum_{j <= t} exp(s_j),
//
// which a recurrence can carry along in a state of constant size (the largest
// score so far, the sum and the average). T is double or Traced; each step
// passes Update.
//
//   Tensor<double> o = RunningAverage<double>(scores, values);   // [T, d_v]
//
// Source: the chapter, section 1, on one matrix product in place of T
// dependent steps.
#ifndef SOFTLOOKUP_EXPERIMENTS_LAYER_COST_RUNNING_AVERAGE_H_
#define SOFTLOOKUP_EXPERIMENTS_LAYER_COST_RUNNING_AVERAGE_H_

#include <vector>

#include "base/tensor/tensor.h"

namespace softlookup {

// o_1 to o_T, [T, d_v], from scores, [T], and values, [T, d_v].
template <typename T>
Tensor<T> RunningAverage(const std::vector<T>& scores, const Tensor<T>& values);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_LAYER_COST_RUNNING_AVERAGE_H_
