// Random queries, keys and values for experiments.
//
//   AttentionProblem<double> problem = DrawProblem(/*seed=*/1, {2, 8, 5, 32});
//   AttentionInputs<double> inputs = problem.inputs();
#ifndef SOFTLOOKUP_ATTENTION_TESTING_ATTENTION_PROBLEM_H_
#define SOFTLOOKUP_ATTENTION_TESTING_ATTENTION_PROBLEM_H_

#include <cstdint>

#include "attention/attention.h"
#include "base/tensor/shape.h"
#include "base/tensor/tensor.h"

namespace softlookup {

template <typename T>
struct AttentionProblem {
  Tensor<T> query, key, value;  // [B, H, T, D]

  // Views of these tensors, which must outlive them; no bias, no mask.
  AttentionInputs<T> inputs() const {
    AttentionInputs<T> inputs;
    inputs.query = query.view();
    inputs.key = key.view();
    inputs.value = value.view();
    return inputs;
  }
};

// Independent normal entries of mean 0 and variance 1, from the streams
// "queries", "keys" and "values". `shape` is [B, H, T, D].
AttentionProblem<double> DrawProblem(uint64_t seed, const Shape& shape);

// Every entry rounded to float.
AttentionProblem<float> ToFloat(const AttentionProblem<double>& problem);

}  // namespace softlookup

#endif  // SOFTLOOKUP_ATTENTION_TESTING_ATTENTION_PROBLEM_H_
