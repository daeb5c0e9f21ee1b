// The forward half of attention_kernels.h.
#include <algorithm>
#include <cstdint>

#include "attention/kernels/attention_kernels.h"
#include "attention/kernels/kernel_problem.h"
#include "attention/kernels/kernel_run.h"
#include "attention/kernels/view_checks.h"
#include "base/status.h"
#include "base/tensor/tensor.h"

namespace softlookup::kernels {
namespace {

// Inputs and target have passed their checks.
absl::Status RunForward(const KernelProblem& problem,
                        const KernelOptions& execution,
                        const ForwardViews& target) {
  SOFTLOOKUP_RETURN_IF_ERROR(problem.RefuseFullyMaskedRows());
  const AttentionSizes& sizes = problem.sizes();
  const KernelTable& kernels = KernelsFor(execution.instruction_set);
  const int64_t tiles = CeilDivide(sizes.queries, kQueryTile);
  const int64_t heads = sizes.batch * sizes.query_heads;
  // One head after another where there are many, so that its keys stay in the
  // cache; tile by tile where the threads share few. Of a head the last tiles
  // first: under a causal mask they see the most keys.
  const bool by_head = heads >= 4 * execution.threads();
  const auto run_tile = [&](int64_t task) {
    const int64_t head_index = by_head ? task / tiles : task % heads;
    const int64_t tile = tiles - 1 - (by_head ? task % tiles : task / heads);
    const int64_t b = head_index / sizes.query_heads;
    const int64_t h = head_index % sizes.query_heads;
    const HeadProblem head = problem.Head(b, h);
    const ForwardTarget rows = {&target.output(b, h, 0, 0),
                                target.output.stride(2),
                                &target.log_sum_exp(b, h, 0)};
    kernels.forward_tile(head, rows, tile * kQueryTile,
                         ThreadScratch<ForwardScratch>());
  };
  execution.ParallelFor(tiles * heads, run_tile,
                        by_head ? TaskOrder::kNearby : TaskOrder::kFirstFirst);
  if (problem.fully_masked() != FullyMasked::kNaN) return absl::OkStatus();
  return problem.ForEachFullyMaskedRow([&](int64_t b, int64_t h, int64_t i) {
    float* row = &target.output(b, h, i, 0);
    std::fill(row, row + sizes.value_width, __builtin_nanf(""));
    return absl::OkStatus();
  });
}

}  // namespace

int64_t MaxAttentionWidth() { return kMaxWidth; }

absl::StatusOr<AttentionOutputs<float>> AttentionForward(
    const AttentionInputs<float>& inputs, const AttentionOptions& options,
    const KernelOptions& execution) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const AttentionSizes sizes,
                              CheckKernelInputs(inputs, options));
  AttentionOutputs<float> outputs;
  outputs.output = Tensor<float>(OutputShape(sizes));
  outputs.log_sum_exp = Tensor<float>(RowShape(sizes));
  SOFTLOOKUP_RETURN_IF_ERROR(
      RunForward(KernelProblem(inputs, options, sizes), execution,
                 {outputs.output.view(), outputs.log_sum_exp.view()}));
  return outputs;
}

absl::Status AttentionForwardInto(const AttentionInputs<float>& inputs,
                                  const AttentionOptions& options,
                                  const KernelOptions& execution,
                                  const ForwardViews& target) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const AttentionSizes sizes,
                              CheckKernelInputs(inputs, options));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckTarget("output", target.output, OutputShape(sizes)));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckTarget("log_sum_exp", target.log_sum_exp, RowShape(sizes)));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckPlaces(
      {{"output", target.output}, {"log_sum_exp", target.log_sum_exp}},
      InputViews(inputs)));
  return RunForward(KernelProblem(inputs, options, sizes), execution, target);
}

}  // namespace softlookup::kernels
