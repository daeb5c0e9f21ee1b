// The oracle: scaled dot-product attention in textbook order.
//
// One line of code per line of the textbook, the T x T matrices and all;
// every faster implementation is tested against this one. T is float, double
// or std::complex<double> (for complex-step derivatives).
//
//   AttentionInputs<double> inputs{q.view(), k.view(), v.view()};
//   SOFTLOOKUP_ASSIGN_OR_RETURN(AttentionOutputs<double> out,
//                               reference::AttentionForward(inputs, {}));
//   SOFTLOOKUP_ASSIGN_OR_RETURN(
//       AttentionGradients<double> gradients,
//       reference::AttentionBackward(inputs, {}, output_gradient.view()));
#ifndef SOFTLOOKUP_ATTENTION_REFERENCE_ATTENTION_REFERENCE_H_
#define SOFTLOOKUP_ATTENTION_REFERENCE_ATTENTION_REFERENCE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "attention/attention.h"
#include "attention/mask.h"
#include "base/tensor/strided_view.h"

namespace softlookup::reference {

// O = softmax(Q K^T scale + bias) V over the allowed keys, with the
// log-sum-exp of each row and, on request, the weights.
template <typename T>
absl::StatusOr<AttentionOutputs<T>> AttentionForward(
    const AttentionInputs<T>& inputs, const AttentionOptions& options);

// The gradients of a scalar L with respect to query, key, value and bias,
// from output_gradient = dL/dO, [B, H, Tq, Dv].
template <typename T>
absl::StatusOr<AttentionGradients<T>> AttentionBackward(
    const AttentionInputs<T>& inputs, const AttentionOptions& options,
    const ConstView<T>& output_gradient);

// The most bytes held beside inputs and outputs, INT64_MAX for all that is
// more: of one head, the weights, two more matrices of their kind, and the list
// of visible keys, which may have twice the room that it needs.
int64_t AttentionScratchBytes(const AttentionSizes& sizes,
                              int64_t element_bytes);

}  // namespace softlookup::reference

#endif  // SOFTLOOKUP_ATTENTION_REFERENCE_ATTENTION_REFERENCE_H_
