#include "attention/kernels/kernel_problem.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "attention/kernels/exp2.h"
#include "base/status.h"

namespace softlookup::kernels {
namespace {

absl::Status CheckWidth(absl::string_view name, int64_t width) {
  if (width <= kMaxWidth) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " has width ", width, "; allowed: up to ", kMaxWidth,
                   " in the blocked kernels (any in the reference)"));
}

}  // namespace

absl::StatusOr<AttentionSizes> CheckKernelInputs(
    const AttentionInputs<float>& inputs, const AttentionOptions& options) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const AttentionSizes sizes,
                              CheckAttention(inputs, options));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckWidth("query", sizes.width));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckWidth("value", sizes.value_width));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckAlignment("query", inputs.query));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckAlignment("key", inputs.key));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckAlignment("value", inputs.value));
  if (inputs.bias.has_value()) {
    SOFTLOOKUP_RETURN_IF_ERROR(CheckAlignment("bias", *inputs.bias));
  }
  const double largest_scale = std::numeric_limits<float>::max() / kLog2E;
  if (std::abs(AttentionScale(options, sizes.width)) > largest_scale) {
    return absl::InvalidArgumentError(
        absl::StrCat("scale is ", AttentionScale(options, sizes.width),
                     "; allowed: up to ", largest_scale, " in size"));
  }
  if (options.weights) {
    return absl::InvalidArgumentError(
        "weights are asked for; allowed: none, the kernels never form them "
        "(the reference does)");
  }
  return sizes;
}

std::vector<NamedView> InputViews(const AttentionInputs<float>& inputs) {
  std::vector<NamedView> views;
  views.reserve(7);  // with the backward pass's three
  views.push_back({"query", inputs.query});
  views.push_back({"key", inputs.key});
  views.push_back({"value", inputs.value});
  if (inputs.bias.has_value()) views.push_back({"bias", *inputs.bias});
  return views;
}

Shape OutputShape(const AttentionSizes& sizes) {
  return {sizes.batch, sizes.query_heads, sizes.queries, sizes.value_width};
}

Shape RowShape(const AttentionSizes& sizes) {
  return {sizes.batch, sizes.query_heads, sizes.queries};
}

RowContiguous::RowContiguous(const StridedView<const float>& view)
    : view_(view) {
  const int last = view.rank() - 1;
  if (view.dim(last) > 1 && view.stride(last) != 1) {
    copy_ = Copy(view);
    view_ = std::as_const(copy_).view();
  }
}

KernelProblem::KernelProblem(const AttentionInputs<float>& inputs,
                             const AttentionOptions& options,
                             const AttentionSizes& sizes)
    : inputs_(inputs),
      sizes_(sizes),
      fully_masked_(options.fully_masked),
      scale_(static_cast<float>(AttentionScale(options, sizes.width))),
      query_(inputs.query),
      key_(inputs.key),
      value_(inputs.value) {
  if (inputs.mask.allowed.has_value()) {
    allowed_ = inputs.mask.allowed->BroadcastTo(sizes.ScoreShape()).value();
  }
  if (inputs.bias.has_value()) {
    bias_ = inputs.bias->BroadcastTo(sizes.ScoreShape()).value();
  }
}

HeadProblem KernelProblem::Head(int64_t b, int64_t h) const {
  const int64_t key_head = sizes_.KeyHead(h);
  const AttentionMask& mask = inputs_.mask;
  HeadProblem head = {};
  head.query = &query_.view()(b, h, 0, 0);
  head.key = &key_.view()(b, key_head, 0, 0);
  head.value = &value_.view()(b, key_head, 0, 0);
  head.query_stride = query_.view().stride(2);
  head.key_stride = key_.view().stride(2);
  head.value_stride = value_.view().stride(2);
  head.queries = sizes_.queries;
  head.width = sizes_.width;
  head.value_width = sizes_.value_width;
  head.scale = scale_;
  head.key_begin = mask.key_starts.empty() ? 0 : mask.key_starts[b];
  head.key_end =
      std::max(head.key_begin,
               mask.key_lengths.empty() ? sizes_.keys : mask.key_lengths[b]);
  head.causal = mask.causal != CausalAlignment::kNone;
  head.causal_offset = mask.causal == CausalAlignment::kBottomRight
                           ? sizes_.keys - sizes_.queries
                           : 0;
  if (allowed_.has_value()) {
    head.allowed = &(*allowed_)(b, h, 0, 0);
    head.allowed_row_stride = allowed_->stride(2);
    head.allowed_column_stride = allowed_->stride(3);
  }
  if (bias_.has_value()) {
    head.bias = &(*bias_)(b, h, 0, 0);
    head.bias_row_stride = bias_->stride(2);
    head.bias_column_stride = bias_->stride(3);
  }
  return head;
}

absl::Status KernelProblem::ForEachFullyMaskedRow(
    const std::function<absl::Status(int64_t, int64_t, int64_t)>& function)
    const {
  for (int64_t b = 0; b < sizes_.batch; ++b) {
    for (int64_t h = 0; h < sizes_.query_heads; ++h) {
      const HeadProblem head = Head(b, h);
      for (int64_t i = 0; i < sizes_.queries; ++i) {
        if (SeesAnyKey(head, i)) continue;
        SOFTLOOKUP_RETURN_IF_ERROR(function(b, h, i));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status KernelProblem::RefuseFullyMaskedRows() const {
  if (fully_masked_ != FullyMasked::kError) return absl::OkStatus();
  return ForEachFullyMaskedRow(FullyMaskedRowError);
}

}  // namespace softlookup::kernels
