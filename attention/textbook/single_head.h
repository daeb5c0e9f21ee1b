// One head over one sequence: attention on matrices, as at the blackboard.
//
// The experiments that look at one head call the reference through this, so
// that their own code speaks of T x T weights and not of batches.
//
//   const Tensor<double> q({3, 2}, {1, 0, 0, 1, 1, 1});
//   SOFTLOOKUP_ASSIGN_OR_RETURN(
//       HeadOutputs<double> head,
//       HeadForward(q, k, v, {.causal = CausalAlignment::kTopLeft}));
//   head.weights(2, 0)                        // of query 3 on key 1
//
// T is double, or std::complex<double> for complex-step derivatives.
#ifndef SOFTLOOKUP_ATTENTION_TEXTBOOK_SINGLE_HEAD_H_
#define SOFTLOOKUP_ATTENTION_TEXTBOOK_SINGLE_HEAD_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "attention/mask.h"
#include "base/tensor/tensor.h"

namespace softlookup {

struct HeadOptions {
  CausalAlignment causal = CausalAlignment::kNone;
  std::optional<double> scale = std::nullopt;  // default 1 / sqrt(D)
};

template <typename T>
struct HeadOutputs {
  Tensor<T> weights;           // P, [Tq, Tk]
  Tensor<T> output;            // O, [Tq, Dv]
  std::vector<T> log_sum_exp;  // [Tq]
};

// Of a scalar L, in the shapes of what they are gradients of.
struct HeadGradients {
  Tensor<double> query;   // [Tq, D]
  Tensor<double> key;     // [Tk, D]
  Tensor<double> value;   // [Tk, Dv]
  Tensor<double> scores;  // [Tq, Tk], of the scores after scaling
};

// softmax(Q K^T scale) V for query [Tq, D], key [Tk, D], value [Tk, Dv].
// InvalidArgument as the reference has it.
template <typename T>
absl::StatusOr<HeadOutputs<T>> HeadForward(const Tensor<T>& query,
                                           const Tensor<T>& key,
                                           const Tensor<T>& value,
                                           const HeadOptions& options);

// The gradients from output_gradient = dL/dO, [Tq, Dv].
absl::StatusOr<HeadGradients> HeadBackward(
    const Tensor<double>& query, const Tensor<double>& key,
    const Tensor<double>& value, const HeadOptions& options,
    const Tensor<double>& output_gradient);

}  // namespace softlookup

#endif  // SOFTLOOKUP_ATTENTION_TEXTBOOK_SINGLE_HEAD_H_
