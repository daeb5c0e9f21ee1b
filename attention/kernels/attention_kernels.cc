#include "attention/kernels/attention_kernels.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attention/kernels/backward_kernel.h"
#include "attention/kernels/forward_kernel.h"
#include "attention/kernels/head_mask.h"
#include "attention/kernels/head_problem.h"
#include "attention/kernels/integers.h"
#include "attention/kernels/kernel_options.h"
#include "attention/kernels/kernel_run.h"
#include "attention/kernels/kernel_table.h"
#include "attention/kernels/row_offsets.h"
#include "attention/kernels/view_checks.h"
#include "base/saturating.h"
#include "base/status.h"
#include "base/tensor/tensor.h"

namespace softlookup::kernels {
namespace {

using ConstView = StridedView<const float>;

// With fewer key heads than this in a batch, the backward pass cuts each
// head's keys into ranges, as many as bring the number of tasks to it. A
// property of the shape alone: the partial dQ of the ranges are added in
// order, so the cut decides the last bits.
constexpr int64_t kBackwardTasks = 8;
// The fewest keys of a range: with fewer, reading the queries once per range
// would cost more than a second thread gains.
constexpr int64_t kRangeKeys = 128;

// Rows per task where a row costs little and depends on no other.
constexpr int64_t kRowsPerTask = 256;

// A view whose last stride is 1: the view itself, or a copy that lives here.
class RowContiguous {
 public:
  explicit RowContiguous(const ConstView& view) : view_(view) {
    const int last = view.rank() - 1;
    if (view.dim(last) > 1 && view.stride(last) != 1) {
      copy_ = Copy(view);
      view_ = std::as_const(copy_).view();
    }
  }
  RowContiguous(const RowContiguous&) = delete;
  RowContiguous& operator=(const RowContiguous&) = delete;
  const ConstView& view() const { return view_; }

 private:
  Tensor<float> copy_;
  ConstView view_;
};

absl::Status CheckWidth(absl::string_view name, int64_t width) {
  if (width <= kMaxWidth) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " has width ", width, "; allowed: up to ", kMaxWidth,
                   " in the blocked kernels (any in the reference)"));
}

// The inputs as the kernels take them, and the problem of each head.
class Problem {
 public:
  Problem(const AttentionInputs<float>& inputs, const AttentionOptions& options,
          const AttentionSizes& sizes)
      : inputs_(inputs),
        sizes_(sizes),
        scale_(static_cast<float>(AttentionScale(options, sizes.width))),
        query_(inputs.query),
        key_(inputs.key),
        value_(inputs.value) {}

  const AttentionSizes& sizes() const { return sizes_; }
  float scale() const { return scale_; }

  HeadProblem Head(int64_t b, int64_t h) const {
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
    if (mask.allowed.has_value()) {
      const StridedView<const uint8_t> allowed = Full(*mask.allowed);
      head.allowed = &allowed(b, h, 0, 0);
      head.allowed_row_stride = allowed.stride(2);
      head.allowed_column_stride = allowed.stride(3);
    }
    if (inputs_.bias.has_value()) {
      const ConstView bias = Full(*inputs_.bias);
      head.bias = &bias(b, h, 0, 0);
      head.bias_row_stride = bias.stride(2);
      head.bias_column_stride = bias.stride(3);
    }
    return head;
  }

  // [B, H, Tq, Tk], repeated by strides of 0.
  template <typename T>
  StridedView<T> Full(const StridedView<T>& view) const {
    return view.BroadcastTo(sizes_.ScoreShape()).value();
  }

 private:
  const AttentionInputs<float>& inputs_;
  const AttentionSizes sizes_;
  const float scale_;
  const RowContiguous query_;
  const RowContiguous key_;
  const RowContiguous value_;
};

absl::StatusOr<AttentionSizes> CheckForward(
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

struct NamedView {
  const char* name;
  ConstView view;
};

std::vector<NamedView> InputViews(const AttentionInputs<float>& inputs) {
  std::vector<NamedView> views = {
      {"query", inputs.query}, {"key", inputs.key}, {"value", inputs.value}};
  if (inputs.bias.has_value()) views.push_back({"bias", *inputs.bias});
  return views;
}

// Every place that is written apart from every other and from what is read.
absl::Status CheckPlaces(const std::vector<NamedView>& writes,
                         const std::vector<NamedView>& reads) {
  for (size_t i = 0; i < writes.size(); ++i) {
    for (size_t other = 0; other < i; ++other) {
      SOFTLOOKUP_RETURN_IF_ERROR(
          CheckTargetsApart(writes[other].name, writes[other].view,
                            writes[i].name, writes[i].view));
    }
    for (const NamedView& read : reads) {
      SOFTLOOKUP_RETURN_IF_ERROR(
          CheckApart(writes[i].name, writes[i].view, read.name, read.view));
    }
  }
  return absl::OkStatus();
}

// Calls function(b, h, i) for every row that sees no key.
absl::Status ForEachFullyMaskedRow(
    const Problem& problem,
    const std::function<absl::Status(int64_t, int64_t, int64_t)>& function) {
  const AttentionSizes& sizes = problem.sizes();
  for (int64_t b = 0; b < sizes.batch; ++b) {
    for (int64_t h = 0; h < sizes.query_heads; ++h) {
      const HeadProblem head = problem.Head(b, h);
      for (int64_t i = 0; i < sizes.queries; ++i) {
        if (SeesAnyKey(head, i)) continue;
        SOFTLOOKUP_RETURN_IF_ERROR(function(b, h, i));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status RefuseFullyMaskedRows(const Problem& problem,
                                   const AttentionOptions& options) {
  if (options.fully_masked != FullyMasked::kError) return absl::OkStatus();
  return ForEachFullyMaskedRow(problem, [](int64_t b, int64_t h, int64_t i) {
    return FullyMaskedRowError(b, h, i);
  });
}

Shape OutputShape(const AttentionSizes& sizes) {
  return {sizes.batch, sizes.query_heads, sizes.queries, sizes.value_width};
}

Shape RowShape(const AttentionSizes& sizes) {
  return {sizes.batch, sizes.query_heads, sizes.queries};
}

// Sets every element to 0; rows are contiguous.
void ClearRows(const StridedView<float>& view) {
  const int last = view.rank() - 1;
  const int64_t width = view.dim(last);
  ForEachElement([width](float& first) { std::fill_n(&first, width, 0.0f); },
                 view.Slice(last, 0, 1));
}

// Calls function(b, h, begin, end) for runs of query rows of every head, on all
// threads.
void ForRows(
    const AttentionSizes& sizes, const KernelOptions& run,
    const std::function<void(int64_t, int64_t, int64_t, int64_t)>& function) {
  const int64_t heads = sizes.batch * sizes.query_heads;
  const int64_t runs = CeilDivide(sizes.queries, kRowsPerTask);
  run.ParallelFor(heads * runs, [&](int64_t task) {
    const int64_t head = task / runs;
    const int64_t begin = task % runs * kRowsPerTask;
    function(head / sizes.query_heads, head % sizes.query_heads, begin,
             std::min(begin + kRowsPerTask, sizes.queries));
  });
}

// How the backward pass is cut into tasks; see kBackwardTasks.
int64_t KeyRanges(const AttentionSizes& sizes) {
  const int64_t heads = sizes.batch * sizes.key_heads;
  return std::clamp<int64_t>(CeilDivide(kBackwardTasks, heads), 1,
                             CeilDivide(sizes.keys, kRangeKeys));
}

// The copies of dQ beside the target itself.
int64_t PartialQueries(const AttentionSizes& sizes) {
  return KeyRanges(sizes) - 1;
}

}  // namespace

int64_t AttentionScratchBytes(const AttentionSizes& sizes, bool backward,
                              int threads) {
  // Each kind stays with its thread once it was used.
  const int64_t per_thread = SaturatingProduct(
      {threads,
       static_cast<int64_t>(sizeof(ForwardScratch) +
                            (backward ? sizeof(BackwardScratch) : 0))});
  if (!backward) return per_thread;
  const int64_t rows =
      SaturatingProduct({sizes.batch, sizes.query_heads, sizes.queries});
  // maximum, log_sum, and the copies of dQ.
  return SaturatingSum(
      {per_thread, SaturatingProduct({rows, 2, sizeof(float)}),
       SaturatingProduct(
           {rows, sizes.width, PartialQueries(sizes), sizeof(float)})});
}

absl::Status AttentionForwardInto(const AttentionInputs<float>& inputs,
                                  const AttentionOptions& options,
                                  const KernelOptions& run,
                                  const ForwardViews& target) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const AttentionSizes sizes,
                              CheckForward(inputs, options));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckTarget("output", target.output, OutputShape(sizes)));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckTarget("log_sum_exp", target.log_sum_exp, RowShape(sizes)));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckPlaces(
      {{"output", target.output}, {"log_sum_exp", target.log_sum_exp}},
      InputViews(inputs)));
  const Problem problem(inputs, options, sizes);
  SOFTLOOKUP_RETURN_IF_ERROR(RefuseFullyMaskedRows(problem, options));

  const KernelTable& kernels = KernelsFor(run.instruction_set);
  const int64_t tiles = CeilDivide(sizes.queries, kQueryTile);
  const int64_t heads = sizes.batch * sizes.query_heads;
  // One head after another where there are many, so that its keys stay in the
  // cache; tile by tile where the threads share few. Of a head the last tiles
  // first: under a causal mask they see the most keys.
  const bool by_head = heads >= 4 * run.threads();
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
  run.ParallelFor(tiles * heads, run_tile,
                  by_head ? TaskOrder::kNearby : TaskOrder::kFirstFirst);
  if (options.fully_masked != FullyMasked::kNaN) return absl::OkStatus();
  return ForEachFullyMaskedRow(problem, [&](int64_t b, int64_t h, int64_t i) {
    float* row = &target.output(b, h, i, 0);
    std::fill(row, row + sizes.value_width, __builtin_nanf(""));
    return absl::OkStatus();
  });
}

absl::StatusOr<AttentionOutputs<float>> AttentionForward(
    const AttentionInputs<float>& inputs, const AttentionOptions& options,
    const KernelOptions& run) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const AttentionSizes sizes,
                              CheckForward(inputs, options));
  AttentionOutputs<float> outputs;
  outputs.output = Tensor<float>(OutputShape(sizes));
  outputs.log_sum_exp = Tensor<float>(RowShape(sizes));
  SOFTLOOKUP_RETURN_IF_ERROR(AttentionForwardInto(
      inputs, options, run,
      {outputs.output.view(), outputs.log_sum_exp.view()}));
  return outputs;
}

absl::Status AttentionBackwardInto(const AttentionInputs<float>& inputs,
                                   const AttentionOptions& options,
                                   const ConstView& output,
                                   const ConstView& log_sum_exp,
                                   const ConstView& output_gradient,
                                   const KernelOptions& run,
                                   const BackwardViews& target) {
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckAttentionBackward(inputs, options, output_gradient).status());
  SOFTLOOKUP_ASSIGN_OR_RETURN(const AttentionSizes sizes,
                              CheckForward(inputs, options));
  if (output.shape() != OutputShape(sizes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("output has shape ", ShapeString(output.shape()),
                     "; allowed: ", ShapeString(OutputShape(sizes))));
  }
  if (log_sum_exp.shape() != RowShape(sizes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("log_sum_exp has shape ", ShapeString(log_sum_exp.shape()),
                     "; allowed: ", ShapeString(RowShape(sizes))));
  }
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckTarget("query gradient", target.query, inputs.query.shape()));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckTarget("key gradient", target.key, inputs.key.shape()));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckTarget("value gradient", target.value, inputs.value.shape()));
  if (inputs.bias.has_value() != target.bias.has_value()) {
    return absl::InvalidArgumentError(
        "a bias gradient goes with a bias; allowed: both or neither");
  }
  if (target.bias.has_value()) {
    SOFTLOOKUP_RETURN_IF_ERROR(
        CheckTarget("bias gradient", *target.bias, inputs.bias->shape()));
  }
  std::vector<NamedView> reads = InputViews(inputs);
  reads.push_back({"output", output});
  reads.push_back({"log_sum_exp", log_sum_exp});
  reads.push_back({"output_gradient", output_gradient});
  for (const NamedView& read : reads) {
    SOFTLOOKUP_RETURN_IF_ERROR(CheckAlignment(read.name, read.view));
  }
  std::vector<NamedView> writes = {{"query gradient", target.query},
                                   {"key gradient", target.key},
                                   {"value gradient", target.value}};
  if (target.bias.has_value()) {
    writes.push_back({"bias gradient", *target.bias});
  }
  SOFTLOOKUP_RETURN_IF_ERROR(CheckPlaces(writes, reads));
  const Problem problem(inputs, options, sizes);
  SOFTLOOKUP_RETURN_IF_ERROR(RefuseFullyMaskedRows(problem, options));
  const RowContiguous output_rows(output);
  const RowContiguous gradient_rows(output_gradient);
  const RowContiguous log_sum_exps(log_sum_exp);
  const KernelTable& kernels = KernelsFor(run.instruction_set);
  const int64_t group = sizes.query_heads / sizes.key_heads;
  const int64_t heads = sizes.batch * sizes.query_heads;

  // What weights are computed with.
  const int64_t rows = heads * sizes.queries;
  const int64_t query_size = rows * sizes.width;
  float* const maximum =
      ThreadFloats(2 * rows + PartialQueries(sizes) * query_size);
  float* const log_sum = maximum + rows;
  float* const partial = log_sum + rows;
  // The first row of a head, among those of all.
  const auto first_row = [&sizes](int64_t b, int64_t h) {
    return (b * sizes.query_heads + h) * sizes.queries;
  };
  ForRows(sizes, run, [&](int64_t b, int64_t h, int64_t begin, int64_t end) {
    const int64_t row = first_row(b, h);
    RowOffsets(problem.Head(b, h), begin, end, &log_sum_exps.view()(b, h, 0),
               maximum + row, log_sum + row);
  });

  // Each range of keys writes a dQ of its own: the first the target, the others
  // `partial`, [ranges - 1, B, H, Tq, D].
  const int64_t ranges = KeyRanges(sizes);
  const int64_t range_keys = RoundUp(CeilDivide(sizes.keys, ranges), kKeyTile);
  const auto partial_rows = [&](int64_t range, int64_t b, int64_t h) {
    return partial + (range - 1) * query_size + first_row(b, h) * sizes.width;
  };
  StridedView<float> bias_gradient;
  if (target.bias.has_value()) {
    ClearRows(*target.bias);
    bias_gradient = problem.Full(*target.bias);
  }
  const auto run_task = [&](int64_t b, int64_t key_head, int64_t range) {
    std::vector<HeadProblem> head_problems;
    std::vector<BackwardTarget> head_targets;
    for (int64_t h = key_head * group; h < (key_head + 1) * group; ++h) {
      head_problems.push_back(problem.Head(b, h));
      BackwardTarget head = {};
      head.output_gradient = &gradient_rows.view()(b, h, 0, 0);
      head.output_gradient_stride = gradient_rows.view().stride(2);
      const int64_t row = first_row(b, h);
      head.output = &output_rows.view()(b, h, 0, 0);
      head.output_stride = output_rows.view().stride(2);
      head.maximum = maximum + row;
      head.log_sum = log_sum + row;
      head.d_query =
          range == 0 ? &target.query(b, h, 0, 0) : partial_rows(range, b, h);
      head.d_query_stride = range == 0 ? target.query.stride(2) : sizes.width;
      head.d_query_scale = ranges == 1 ? problem.scale() : 1;
      if (target.bias.has_value()) {
        head.d_bias = &bias_gradient(b, h, 0, 0);
        head.d_bias_row_stride = bias_gradient.stride(2);
        head.d_bias_column_stride = bias_gradient.stride(3);
      }
      head_targets.push_back(head);
    }
    const BackwardGroup heads_of_key = {head_problems.data(),
                                        head_targets.data(),
                                        group,
                                        &target.key(b, key_head, 0, 0),
                                        target.key.stride(2),
                                        &target.value(b, key_head, 0, 0),
                                        target.value.stride(2)};
    kernels.backward_keys(heads_of_key,
                          std::min(range * range_keys, sizes.keys),
                          std::min((range + 1) * range_keys, sizes.keys),
                          ThreadScratch<BackwardScratch>());
  };
  // A bias gradient that several tasks add to is added to in one order, by
  // one thread.
  const auto shared = [&target](int axis, int64_t size) {
    return target.bias.has_value() && target.bias->dim(axis) != size;
  };
  const bool serial_batch = shared(0, sizes.batch);
  const bool serial_heads = shared(1, sizes.query_heads);
  const bool serial_ranges = shared(3, sizes.keys);
  const int64_t batch_tasks = serial_batch ? 1 : sizes.batch;
  const int64_t head_tasks = serial_heads ? 1 : sizes.key_heads;
  const int64_t range_tasks = serial_ranges ? 1 : ranges;
  const auto run_share = [&](int64_t task) {
    // The first keys first: under a causal mask most queries see them.
    const int64_t range = task / (batch_tasks * head_tasks);
    const int64_t b = task / head_tasks % batch_tasks;
    const int64_t h = task % head_tasks;
    for (int64_t bb = b; bb < (serial_batch ? sizes.batch : b + 1); ++bb) {
      for (int64_t hh = h; hh < (serial_heads ? sizes.key_heads : h + 1);
           ++hh) {
        for (int64_t rr = range; rr < (serial_ranges ? ranges : range + 1);
             ++rr) {
          run_task(bb, hh, rr);
        }
      }
    }
  };
  run.ParallelFor(
      batch_tasks * head_tasks * range_tasks, run_share,
      range_tasks == 1 ? TaskOrder::kNearby : TaskOrder::kFirstFirst);

  // dQ = (sum over ranges, in order) scale.
  if (ranges == 1) return absl::OkStatus();
  ForRows(sizes, run, [&](int64_t b, int64_t h, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      float* row = &target.query(b, h, i, 0);
      for (int64_t range = 1; range < ranges; ++range) {
        kernels.add(partial_rows(range, b, h) + i * sizes.width, row,
                    sizes.width);
      }
      kernels.scale(problem.scale(), row, sizes.width);
    }
  });
  return absl::OkStatus();
}

absl::StatusOr<AttentionGradients<float>> AttentionBackward(
    const AttentionInputs<float>& inputs, const AttentionOptions& options,
    const AttentionOutputs<float>& outputs, const ConstView& output_gradient,
    const KernelOptions& run) {
  SOFTLOOKUP_RETURN_IF_ERROR(CheckForward(inputs, options).status());
  AttentionGradients<float> gradients;
  gradients.query = Tensor<float>(inputs.query.shape());
  gradients.key = Tensor<float>(inputs.key.shape());
  gradients.value = Tensor<float>(inputs.value.shape());
  BackwardViews views = {gradients.query.view(), gradients.key.view(),
                         gradients.value.view(), std::nullopt};
  if (inputs.bias.has_value()) {
    gradients.bias = Tensor<float>(inputs.bias->shape());
    views.bias = gradients.bias->view();
  }
  SOFTLOOKUP_RETURN_IF_ERROR(AttentionBackwardInto(
      inputs, options, outputs.output.view(), outputs.log_sum_exp.view(),
      output_gradient, run, views));
  return gradients;
}

}  // namespace softlookup::kernels
