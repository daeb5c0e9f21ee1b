// An attention problem as the kernels take it: checked once, with rows that are
// contiguous and one HeadProblem for each head.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(const AttentionSizes sizes,
//                               CheckKernelInputs(inputs, options));
//   const KernelProblem problem(inputs, options, sizes);
//   kernels.forward_tile(problem.Head(b, h), ...);
#ifndef SOFTLOOKUP_ATTENTION_KERNELS_KERNEL_PROBLEM_H_
#define SOFTLOOKUP_ATTENTION_KERNELS_KERNEL_PROBLEM_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "attention/attention.h"
#include "attention/kernels/masked_head.h"
#include "attention/kernels/view_checks.h"
#include "attention/mask.h"
#include "base/tensor/shape.h"
#include "base/tensor/strided_view.h"
#include "base/tensor/tensor.h"

namespace softlookup::kernels {

// InvalidArgument as CheckAttention, and for what only the kernels refuse: a
// width over kMaxWidth, a scale near the largest float, misaligned memory, and
// options.weights.
absl::StatusOr<AttentionSizes> CheckKernelInputs(
    const AttentionInputs<float>& inputs, const AttentionOptions& options);

// The tensors that a call reads, for CheckPlaces.
std::vector<NamedView> InputViews(const AttentionInputs<float>& inputs);

// [B, H, Tq, Dv] and [B, H, Tq].
Shape OutputShape(const AttentionSizes& sizes);
Shape RowShape(const AttentionSizes& sizes);

// A view whose last stride is 1: the view itself, or a copy that lives here.
class RowContiguous {
 public:
  explicit RowContiguous(const StridedView<const float>& view);
  RowContiguous(const RowContiguous&) = delete;
  RowContiguous& operator=(const RowContiguous&) = delete;
  const StridedView<const float>& view() const { return view_; }

 private:
  Tensor<float> copy_;
  StridedView<const float> view_;
};

class KernelProblem {
 public:
  // Inputs that have passed CheckKernelInputs, with its sizes; they must
  // outlive this object.
  KernelProblem(const AttentionInputs<float>& inputs,
                const AttentionOptions& options, const AttentionSizes& sizes);

  const AttentionSizes& sizes() const { return sizes_; }
  float scale() const { return scale_; }
  FullyMasked fully_masked() const { return fully_masked_; }

  HeadProblem Head(int64_t b, int64_t h) const;

  // Calls function(b, h, i) for every row that sees no key, up to the first
  // error.
  absl::Status ForEachFullyMaskedRow(
      const std::function<absl::Status(int64_t, int64_t, int64_t)>& function)
      const;

  // The error of FullyMasked::kError, if that is the rule and there is such a
  // row.
  absl::Status RefuseFullyMaskedRows() const;

 private:
  const AttentionInputs<float>& inputs_;
  const AttentionSizes sizes_;
  const FullyMasked fully_masked_;
  const float scale_;
  const RowContiguous query_;
  const RowContiguous key_;
  const RowContiguous value_;
  // [B, H, Tq, Tk], repeated by strides of 0.
  std::optional<StridedView<const uint8_t>> allowed_;
  std::optional<StridedView<const float>> bias_;
};

}  // namespace softlookup::kernels

#endif  // SOFTLOOKUP_ATTENTION_KERNELS_KERNEL_PROBLEM_H_
