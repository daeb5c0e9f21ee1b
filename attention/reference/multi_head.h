// Multi-head self-attention: one projection per role for all heads at once.
//
//   q = x W_Q, k = x W_K, v = x W_V         [B, T, heads * width]
//   split into heads                        [B, H, T, D], by strides
//   heads = attention(q, k, v)              [B, H, T, Dv]
//   merge heads                             [B, T, H Dv], needs a copy
//   output = merged W_O                     [B, T, d]
//
// Head i's projections are column blocks of W_Q, W_K and W_V, and it writes
// to the output through its block of rows of W_O: the output is the sum of
// the heads' writes (HeadWrites). With key_heads < heads, groups of query
// heads share a key/value head (base/tensor/shape.h).
//
//   MultiHeadWeights<double> weights = ...;    // heads = 8
//   MultiHeadOptions options;
//   options.mask.causal = CausalAlignment::kTopLeft;
//   SOFTLOOKUP_ASSIGN_OR_RETURN(
//       MultiHeadOutputs<double> outputs,
//       MultiHeadForward(x.view(), weights, options));
//
// T is float, double or std::complex<double>. No biases, as in the chapter's
// listing. Source: Vaswani et al. 2017; the chapter, section 4.
#ifndef SOFTLOOKUP_ATTENTION_REFERENCE_MULTI_HEAD_H_
#define SOFTLOOKUP_ATTENTION_REFERENCE_MULTI_HEAD_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "attention/attention.h"
#include "attention/mask.h"
#include "base/check.h"
#include "base/tensor/strided_view.h"
#include "base/tensor/tensor.h"

namespace softlookup {

template <typename T>
struct MultiHeadWeights {
  int64_t heads = 1;      // H
  int64_t key_heads = 1;  // Hkv, a divisor of H
  Tensor<T> query;        // W_Q, [d, H D]
  Tensor<T> key;          // W_K, [d, Hkv D]
  Tensor<T> value;        // W_V, [d, Hkv Dv]
  Tensor<T> output;       // W_O, [H Dv, d]

  // The key/value head that query head h reads.
  int64_t KeyHead(int64_t h) const { return h / (heads / key_heads); }
  // Head h's column block of a projection, [d, D] or [d, Dv], and its row
  // block of W_O, [Dv, d].
  StridedView<const T> QueryBlock(int64_t h) const;
  StridedView<const T> KeyBlock(int64_t h) const;
  StridedView<const T> ValueBlock(int64_t h) const;
  StridedView<const T> OutputBlock(int64_t h) const;
};

struct MultiHeadOptions {
  AttentionMask mask;          // Tq = Tk = T
  AttentionOptions attention;  // set weights to get the attention pattern
};

template <typename T>
struct MultiHeadOutputs {
  Tensor<T> output;                  // [B, T, d]
  Tensor<T> heads;                   // [B, H, T, Dv], before W_O
  std::optional<Tensor<T>> weights;  // [B, H, T, T], the attention pattern
};

template <typename T>
struct MultiHeadGradients {
  Tensor<T> x;  // [B, T, d]
  // In the shapes of W_Q, W_K, W_V and W_O.
  Tensor<T> query;
  Tensor<T> key;
  Tensor<T> value;
  Tensor<T> output;
};

// [B, T, H D] -> [B, H, T, D] by strides; no element moves. The last
// dimension must be a multiple of heads (checked).
template <typename T>
StridedView<T> SplitHeads(const StridedView<T>& x, int64_t heads) {
  SOFTLOOKUP_CHECK(x.rank() == 3 && x.dim(2) % heads == 0,
                   "[B, T, H D] with D a whole number");
  return x.SplitAxis(2, {heads, x.dim(2) / heads}).Transpose(1, 2);
}

// [B, T, H D] again. As PyTorch's reshape: a view where strides can say it,
// and a copy where not. Heads that were split by strides merge without a
// copy; heads that lie one after the other in memory need one, unless there
// is a single head, a single position or a width of 1.
template <typename T>
struct MergedHeads {
  std::optional<Tensor<T>> copy;  // the elements, if they had to move
  StridedView<const T> view;      // of `copy`, or of what was merged

  MergedHeads() = default;
  // The view must not outlive the copy: moving keeps elements in place.
  MergedHeads(MergedHeads&&) = default;
  MergedHeads& operator=(MergedHeads&&) = default;
};
template <typename T>
MergedHeads<T> MergeHeads(const StridedView<const T>& heads);

// x is [B, T, d]. InvalidArgument, naming the argument and what is allowed,
// when shapes disagree or the attention inputs they make are refused.
template <typename T>
absl::StatusOr<MultiHeadOutputs<T>> MultiHeadForward(
    const ConstView<T>& x, const MultiHeadWeights<T>& weights,
    const MultiHeadOptions& options);

// The gradients of a scalar L from output_gradient = dL/d output, [B, T, d].
// A position that no query sees still passes through the projections: unlike
// the attention operator, they read every row of x.
template <typename T>
absl::StatusOr<MultiHeadGradients<T>> MultiHeadBackward(
    const ConstView<T>& x, const MultiHeadWeights<T>& weights,
    const MultiHeadOptions& options, const ConstView<T>& output_gradient);

// What each head adds to the output: head h's [T, Dv] times its row block of
// W_O; [B, H, T, d] from heads [B, H, T, Dv]. Summed over H it is the output.
template <typename T>
Tensor<T> HeadWrites(const ConstView<T>& heads,
                     const MultiHeadWeights<T>& weights);

}  // namespace softlookup

#endif  // SOFTLOOKUP_ATTENTION_REFERENCE_MULTI_HEAD_H_
