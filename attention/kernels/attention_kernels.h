// Float32 attention, forward and backward, at the hardware's speed.
//
// The interface of the reference (attention/reference/attention_reference.h),
// blocked with a streaming softmax: nothing of size Tq x Tk is ever stored.
// The same bits on every instruction set and for every number of threads; see
// determinism.md.
//
//   ThreadPool pool(2);
//   kernels::KernelOptions execution = {.pool = &pool};
//   SOFTLOOKUP_ASSIGN_OR_RETURN(AttentionOutputs<float> out,
//                               kernels::AttentionForward(inputs, {},
//                               execution));
//   SOFTLOOKUP_ASSIGN_OR_RETURN(
//       AttentionGradients<float> gradients,
//       kernels::AttentionBackward(inputs, {}, out, output_gradient.view(),
//                                  execution));
//
// Widths D and Dv up to MaxAttentionWidth(). The last stride of every tensor
// should be 1; others are copied first. Memory beside inputs and outputs: a
// scratch of fixed size per thread, O(Tq) per head in the backward pass, and,
// where few heads must keep many threads busy, up to 7 copies of dQ. Threads
// keep their scratch for the next call, of the rest 64 MiB at most.
//
// Accuracy, for finite inputs whose scores do not overflow: with e = 8 * 2^-24
// (1 + S), S the largest sum of |q_k k_k scale| and |bias| of a pair and G the
// largest sum of |dO_k V_k|, and up to Tq 2^-149 for what is smaller than a
// float holds,
//
//   O   e max|V|             dV  e n max|dO|
//   L   e                    dQ  e scale G max|K|    dK  e scale n G max|Q|
//
// n the queries of a key's heads, Tq H / Hkv; and for the bias e G for each
// pair that shares the element (attention_accuracy_test.cc).
#ifndef SOFTLOOKUP_ATTENTION_KERNELS_ATTENTION_KERNELS_H_
#define SOFTLOOKUP_ATTENTION_KERNELS_ATTENTION_KERNELS_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "attention/attention.h"
#include "attention/kernels/kernel_options.h"
#include "base/tensor/strided_view.h"

namespace softlookup::kernels {

// The largest width of a head, D or Dv: 256.
int64_t MaxAttentionWidth();

// O = softmax(Q K^T scale + bias) V and the log-sum-exp of each row.
// InvalidArgument as CheckAttention, for a width over the largest, a scale near
// the largest float, misaligned memory, options.weights (P is never formed),
// and a fully masked row under FullyMasked::kError.
absl::StatusOr<AttentionOutputs<float>> AttentionForward(
    const AttentionInputs<float>& inputs, const AttentionOptions& options,
    const KernelOptions& execution);

// The gradients from output_gradient = dL/dO and the forward's outputs.
// InvalidArgument as AttentionForward and CheckAttentionBackward, and for
// outputs of other shapes.
absl::StatusOr<AttentionGradients<float>> AttentionBackward(
    const AttentionInputs<float>& inputs, const AttentionOptions& options,
    const AttentionOutputs<float>& outputs,
    const StridedView<const float>& output_gradient,
    const KernelOptions& execution);

// Where the in-place forms write; the last stride must be 1. Targets may
// interleave with each other, as parts of a [B, T, 3, H, D] tensor with equal
// strides do. Each must lie before or after all of every input.
struct ForwardViews {
  StridedView<float> output;       // [B, H, Tq, Dv]
  StridedView<float> log_sum_exp;  // [B, H, Tq]
};
struct BackwardViews {
  StridedView<float> query;                // the query's shape
  StridedView<float> key;                  // the key's shape
  StridedView<float> value;                // the value's shape
  std::optional<StridedView<float>> bias;  // the bias's shape, if there is one
};

// As above, into memory of the caller. Also InvalidArgument for targets of
// other shapes or strides, that overlap, or that are misaligned.
absl::Status AttentionForwardInto(const AttentionInputs<float>& inputs,
                                  const AttentionOptions& options,
                                  const KernelOptions& execution,
                                  const ForwardViews& target);
absl::Status AttentionBackwardInto(
    const AttentionInputs<float>& inputs, const AttentionOptions& options,
    const StridedView<const float>& output,
    const StridedView<const float>& log_sum_exp,
    const StridedView<const float>& output_gradient,
    const KernelOptions& execution, const BackwardViews& target);

// The most bytes held beside inputs and outputs, for sizes that CheckAttention
// gives and inputs whose last strides are 1. With `backward`, of a forward pass
// and the backward pass after it.
int64_t AttentionScratchBytes(const AttentionSizes& sizes, bool backward,
                              int threads);

}  // namespace softlookup::kernels

#endif  // SOFTLOOKUP_ATTENTION_KERNELS_ATTENTION_KERNELS_H_
