// Scaled dot-product attention: its inputs, options, outputs and checks.
//
//   S = Q K^T scale + bias      P = softmax(S) over allowed keys      O = P V
//
// (Vaswani et al. 2017; the chapter, section 2.) This header is the contract
// that every implementation shares; attention/reference/attention_reference.h
// is the float64 oracle.
//
//   AttentionInputs<double> inputs{q.view(), k.view(), v.view()};
//   inputs.mask.causal = CausalAlignment::kTopLeft;
//   auto result = reference::AttentionForward(inputs, {});
//
// Rows with every key masked: by default output 0, log-sum-exp -inf, gradients
// 0. Nothing stored at a masked position reaches any output or gradient, not
// even a NaN. At visible positions NaN and infinities follow IEEE arithmetic,
// as in a hand-written softmax: a score of NaN or +inf, or a row of scores
// that all overflowed to -inf, makes the row's weights and output NaN; its
// log-sum-exp is then NaN, +inf or -inf.
#ifndef SOFTLOOKUP_ATTENTION_ATTENTION_H_
#define SOFTLOOKUP_ATTENTION_ATTENTION_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "attention/mask.h"
#include "base/tensor/strided_view.h"
#include "base/tensor/tensor.h"

namespace softlookup {

// What a row with every key masked gives.
enum class FullyMasked {
  kZero,   // output 0, log-sum-exp -inf, weights 0, gradients 0
  kNaN,    // output and weights NaN, as a hand-written softmax gives for 0 / 0;
           // log-sum-exp -inf; forward only
  kError,  // InvalidArgument naming the row
};

// "zero", "nan", "error".
absl::StatusOr<FullyMasked> ParseFullyMasked(const std::string& text);
std::string FullyMaskedName(FullyMasked rule);

template <typename T>
struct AttentionInputs {
  StridedView<const T> query;  // [B, H, Tq, D]
  StridedView<const T> key;    // [B, Hkv, Tk, D]
  StridedView<const T> value;  // [B, Hkv, Tk, Dv]
  // Added to the scaled scores; rank 4, each dimension 1 or full; -inf masks.
  std::optional<StridedView<const T>> bias;
  AttentionMask mask;
};

struct AttentionOptions {
  std::optional<double> scale = {};  // default 1 / sqrt(D); must be finite
  FullyMasked fully_masked = FullyMasked::kZero;
  bool weights = false;  // also return P
};

template <typename T>
struct AttentionOutputs {
  Tensor<T> output;                  // [B, H, Tq, Dv]
  Tensor<T> log_sum_exp;             // [B, H, Tq], of the scores S
  std::optional<Tensor<T>> weights;  // [B, H, Tq, Tk], if asked for
};

template <typename T>
struct AttentionGradients {
  Tensor<T> query;                // the query's shape
  Tensor<T> key;                  // the key's shape, summed over its group
  Tensor<T> value;                // the value's shape, summed over its group
  std::optional<Tensor<T>> bias;  // the bias's own shape, if there is one
};

// The sizes of a problem whose shapes agree. InvalidArgument, naming the
// argument and both shapes, when they do not: rank 4, equal batch, H a
// multiple of Hkv, equal widths, equal key counts, no dimension 0, a mask or
// bias that broadcasts, a finite scale.
template <typename T>
absl::StatusOr<AttentionSizes> CheckAttention(const AttentionInputs<T>& inputs,
                                              const AttentionOptions& options);

// For sizes and options that have passed: InvalidArgument unless the gradient
// of the output is [B, H, Tq, Dv], and for FullyMasked::kNaN, which has no
// gradient.
absl::Status CheckOutputGradient(const Shape& output_gradient,
                                 const AttentionOptions& options,
                                 const AttentionSizes& sizes);

// Both.
template <typename T>
absl::StatusOr<AttentionSizes> CheckAttentionBackward(
    const AttentionInputs<T>& inputs, const AttentionOptions& options,
    const ConstView<T>& output_gradient);

// Whether query i of head h in batch entry b sees key j: the mask allows it,
// and a bias is not -inf there. The inputs have passed CheckAttention.
template <typename T>
bool SeesKey(const AttentionInputs<T>& inputs, const AttentionSizes& sizes,
             int64_t b, int64_t h, int64_t i, int64_t j);

// The rows (b, h, i) that see no key.
template <typename T>
int64_t CountFullyMaskedRows(const AttentionInputs<T>& inputs,
                             const AttentionSizes& sizes);

// The error for a fully masked row under FullyMasked::kError.
absl::Status FullyMaskedRowError(int64_t b, int64_t h, int64_t i);

// The scale in force: options.scale or 1 / sqrt(D).
double AttentionScale(const AttentionOptions& options, int64_t width);

}  // namespace softlookup

#endif  // SOFTLOOKUP_ATTENTION_ATTENTION_H_
