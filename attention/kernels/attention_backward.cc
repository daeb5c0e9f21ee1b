// The backward half of attention_kernels.h.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attention/kernels/attention_kernels.h"
#include "attention/kernels/kernel_problem.h"
#include "attention/kernels/kernel_run.h"
#include "attention/kernels/view_checks.h"
#include "base/elementary.h"
#include "base/saturating.h"
#include "base/status.h"
#include "base/tensor/tensor.h"

namespace softlookup::kernels {
namespace {

using ConstView = StridedView<const float>;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

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

// The largest log-sum-exp L, in size, that is taken as it is: P = exp(S - L) is
// then off by a factor of up to 1 + kExactLogSumExp 2^-24. Beyond, L says
// little about how many keys share the weight (nothing for |L| = 10^9).
constexpr float kExactLogSumExp = 1024;

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

// The scores of the keys that query i sees, to the bit as the tiles have them.
std::vector<float> Scores(const HeadProblem& head, int64_t i) {
  const float scale = QueryScale(head);
  const float* query = head.query + i * head.query_stride;
  std::vector<float> scores;
  for (int64_t j = head.key_begin; j < KeyEnd(head, i); ++j) {
    if (!Visible(head, i, j)) continue;
    const float* key = head.key + j * head.key_stride;
    float score = 0;
    for (int64_t k = 0; k < head.width; ++k) {
      score = std::fma(key[k], query[k] * scale, score);
    }
    if (head.bias != nullptr) {
      score +=
          head.bias[i * head.bias_row_stride + j * head.bias_column_stride];
    }
    scores.push_back(score);
  }
  return scores;
}

// What is subtracted from the scores of a row before they are exponentiated:
// P = exp(min(0, S - maximum[i]) - log_sum[i]), in the scores' unit
// (HeadProblem), for the queries i of [begin, end), from log_sum_exp [Tq]. Rows
// of large log-sum-exp get their maximum and the logarithm of their sum back,
// from the scores. maximum is +inf, for weights of exactly 0, where a query
// sees no key, and NaN where the forward's weights were.
void RowOffsets(const HeadProblem& head, int64_t begin, int64_t end,
                const float* log_sum_exp, float* maximum, float* log_sum) {
  // From natural logarithms to the scores' unit.
  const float unit = head.bias == nullptr ? kLog2E : 1.0f;
  for (int64_t i = begin; i < end; ++i) {
    const float total = log_sum_exp[i];
    log_sum[i] = 0;
    if (!std::isfinite(total)) {
      maximum[i] = total == -kInf && !SeesAnyKey(head, i) ? kInf : kNan;
    } else if (std::abs(total) <= kExactLogSumExp) {
      maximum[i] = total * unit;
    } else {
      const std::vector<float> scores = Scores(head, i);
      maximum[i] = *std::max_element(scores.begin(), scores.end());
      float sum = 0;
      for (const float score : scores) {
        sum += Exp((score - maximum[i]) / unit);
      }
      log_sum[i] = Log(sum) * unit;
    }
  }
}

// Sets every element to 0; rows are contiguous.
void ClearRows(const StridedView<float>& view) {
  const int last = view.rank() - 1;
  const int64_t width = view.dim(last);
  ForEachElement([width](float& first) { std::fill_n(&first, width, 0.0f); },
                 view.Slice(last, 0, 1));
}

// What the backward pass reads of the forward's results.
struct ForwardResults {
  const ConstView& output;
  const ConstView& log_sum_exp;
  const ConstView& output_gradient;
};

// One call, whose inputs and targets have passed their checks.
class BackwardCall {
 public:
  BackwardCall(const KernelProblem& problem, const ForwardResults& results,
               const KernelOptions& execution, const BackwardViews& target)
      : problem_(problem),
        sizes_(problem.sizes()),
        execution_(execution),
        target_(target),
        kernels_(KernelsFor(execution.instruction_set)),
        output_(results.output),
        output_gradient_(results.output_gradient),
        log_sum_exp_(results.log_sum_exp),
        ranges_(KeyRanges(sizes_)) {
    const int64_t rows = sizes_.batch * sizes_.query_heads * sizes_.queries;
    query_size_ = rows * sizes_.width;
    maximum_ = ThreadFloats(2 * rows + PartialQueries(sizes_) * query_size_);
    log_sum_ = maximum_ + rows;
    partial_ = log_sum_ + rows;
    if (target.bias.has_value()) {
      d_bias_ = target.bias->BroadcastTo(sizes_.ScoreShape()).value();
    }
  }

  void Run() {
    ForRows([&](int64_t b, int64_t h, int64_t begin, int64_t end) {
      const int64_t row = FirstRow(b, h);
      RowOffsets(problem_.Head(b, h), begin, end, &log_sum_exp_.view()(b, h, 0),
                 maximum_ + row, log_sum_ + row);
    });
    if (target_.bias.has_value()) ClearRows(*target_.bias);
    RunTasks();
    if (ranges_ > 1) AddPartialQueries();
  }

 private:
  // The first row of a head, among those of all.
  int64_t FirstRow(int64_t b, int64_t h) const {
    return (b * sizes_.query_heads + h) * sizes_.queries;
  }

  // Each range of keys writes a dQ of its own: the first the target, the others
  // `partial_`, [ranges - 1, B, H, Tq, D].
  float* PartialRows(int64_t range, int64_t b, int64_t h) const {
    return partial_ + (range - 1) * query_size_ + FirstRow(b, h) * sizes_.width;
  }

  // Calls function(b, h, begin, end) for runs of query rows of every head, on
  // all threads.
  void ForRows(
      const std::function<void(int64_t, int64_t, int64_t, int64_t)>& function) {
    const int64_t heads = sizes_.batch * sizes_.query_heads;
    const int64_t runs = CeilDivide(sizes_.queries, kRowsPerTask);
    execution_.ParallelFor(heads * runs, [&](int64_t task) {
      const int64_t head = task / runs;
      const int64_t begin = task % runs * kRowsPerTask;
      function(head / sizes_.query_heads, head % sizes_.query_heads, begin,
               std::min(begin + kRowsPerTask, sizes_.queries));
    });
  }

  BackwardTarget HeadTarget(int64_t b, int64_t h, int64_t range) const {
    BackwardTarget head = {};
    head.output_gradient = &output_gradient_.view()(b, h, 0, 0);
    head.output_gradient_stride = output_gradient_.view().stride(2);
    head.output = &output_.view()(b, h, 0, 0);
    head.output_stride = output_.view().stride(2);
    head.maximum = maximum_ + FirstRow(b, h);
    head.log_sum = log_sum_ + FirstRow(b, h);
    head.d_query =
        range == 0 ? &target_.query(b, h, 0, 0) : PartialRows(range, b, h);
    head.d_query_stride = range == 0 ? target_.query.stride(2) : sizes_.width;
    head.d_query_scale = ranges_ == 1 ? problem_.scale() : 1;
    if (target_.bias.has_value()) {
      head.d_bias = &d_bias_(b, h, 0, 0);
      head.d_bias_row_stride = d_bias_.stride(2);
      head.d_bias_column_stride = d_bias_.stride(3);
    }
    return head;
  }

  // One range of one key head's keys, against all queries that read it.
  void RunRange(int64_t b, int64_t key_head, int64_t range) const {
    const int64_t group = sizes_.query_heads / sizes_.key_heads;
    std::vector<HeadProblem> head_problems;
    std::vector<BackwardTarget> head_targets;
    for (int64_t h = key_head * group; h < (key_head + 1) * group; ++h) {
      head_problems.push_back(problem_.Head(b, h));
      head_targets.push_back(HeadTarget(b, h, range));
    }
    const BackwardGroup heads_of_key = {head_problems.data(),
                                        head_targets.data(),
                                        group,
                                        &target_.key(b, key_head, 0, 0),
                                        target_.key.stride(2),
                                        &target_.value(b, key_head, 0, 0),
                                        target_.value.stride(2)};
    const int64_t range_keys =
        RoundUp(CeilDivide(sizes_.keys, ranges_), kKeyTile);
    kernels_.backward_keys(heads_of_key,
                           std::min(range * range_keys, sizes_.keys),
                           std::min((range + 1) * range_keys, sizes_.keys),
                           ThreadScratch<BackwardScratch>());
  }

  // Every range of every key head. A bias gradient that several tasks add to is
  // added to in one order, by one thread.
  void RunTasks() const {
    const auto shared = [this](int axis, int64_t size) {
      return target_.bias.has_value() && target_.bias->dim(axis) != size;
    };
    const bool serial_batch = shared(0, sizes_.batch);
    const bool serial_heads = shared(1, sizes_.query_heads);
    const bool serial_ranges = shared(3, sizes_.keys);
    const int64_t batch_tasks = serial_batch ? 1 : sizes_.batch;
    const int64_t head_tasks = serial_heads ? 1 : sizes_.key_heads;
    const int64_t range_tasks = serial_ranges ? 1 : ranges_;
    const auto run_share = [&](int64_t task) {
      // The first keys first: under a causal mask most queries see them.
      const int64_t range = task / (batch_tasks * head_tasks);
      const int64_t b = task / head_tasks % batch_tasks;
      const int64_t h = task % head_tasks;
      for (int64_t bb = b; bb < (serial_batch ? sizes_.batch : b + 1); ++bb) {
        for (int64_t hh = h; hh < (serial_heads ? sizes_.key_heads : h + 1);
             ++hh) {
          for (int64_t rr = range; rr < (serial_ranges ? ranges_ : range + 1);
               ++rr) {
            RunRange(bb, hh, rr);
          }
        }
      }
    };
    execution_.ParallelFor(
        batch_tasks * head_tasks * range_tasks, run_share,
        range_tasks == 1 ? TaskOrder::kNearby : TaskOrder::kFirstFirst);
  }

  // dQ = (sum over ranges, in order) scale.
  void AddPartialQueries() {
    ForRows([&](int64_t b, int64_t h, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        float* row = &target_.query(b, h, i, 0);
        for (int64_t range = 1; range < ranges_; ++range) {
          kernels_.add(PartialRows(range, b, h) + i * sizes_.width, row,
                       sizes_.width);
        }
        kernels_.scale(problem_.scale(), row, sizes_.width);
      }
    });
  }

  const KernelProblem& problem_;
  const AttentionSizes& sizes_;
  const KernelOptions& execution_;
  const BackwardViews& target_;
  const KernelTable& kernels_;
  const RowContiguous output_;
  const RowContiguous output_gradient_;
  const RowContiguous log_sum_exp_;
  const int64_t ranges_;  // of the keys of a head; see kBackwardTasks
  int64_t query_size_;    // elements of dQ
  float* maximum_;        // [B, H, Tq], with log_sum_: see RowOffsets
  float* log_sum_;        // [B, H, Tq]
  float* partial_;
  StridedView<float> d_bias_;  // repeated over the scores' shape
};

// Shapes and alignment of what is read beside the inputs, which have passed.
absl::Status CheckResults(const ForwardResults& results,
                          const AttentionOptions& options,
                          const AttentionSizes& sizes) {
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckOutputGradient(results.output_gradient.shape(), options, sizes));
  if (results.output.shape() != OutputShape(sizes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("output has shape ", ShapeString(results.output.shape()),
                     "; allowed: ", ShapeString(OutputShape(sizes))));
  }
  if (results.log_sum_exp.shape() != RowShape(sizes)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "log_sum_exp has shape ", ShapeString(results.log_sum_exp.shape()),
        "; allowed: ", ShapeString(RowShape(sizes))));
  }
  SOFTLOOKUP_RETURN_IF_ERROR(CheckAlignment("output", results.output));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckAlignment("log_sum_exp", results.log_sum_exp));
  return CheckAlignment("output_gradient", results.output_gradient);
}

absl::Status CheckTargets(const AttentionInputs<float>& inputs,
                          const ForwardResults& results,
                          const BackwardViews& target) {
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
  std::vector<NamedView> reads = InputViews(inputs);
  reads.push_back({"output", results.output});
  reads.push_back({"log_sum_exp", results.log_sum_exp});
  reads.push_back({"output_gradient", results.output_gradient});
  std::vector<NamedView> writes = {{"query gradient", target.query},
                                   {"key gradient", target.key},
                                   {"value gradient", target.value}};
  if (target.bias.has_value()) {
    SOFTLOOKUP_RETURN_IF_ERROR(
        CheckTarget("bias gradient", *target.bias, inputs.bias->shape()));
    writes.push_back({"bias gradient", *target.bias});
  }
  return CheckPlaces(writes, reads);
}

}  // namespace

absl::StatusOr<AttentionGradients<float>> AttentionBackward(
    const AttentionInputs<float>& inputs, const AttentionOptions& options,
    const AttentionOutputs<float>& outputs, const ConstView& output_gradient,
    const KernelOptions& execution) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const AttentionSizes sizes,
                              CheckKernelInputs(inputs, options));
  const ConstView output = outputs.output.view();
  const ConstView log_sum_exp = outputs.log_sum_exp.view();
  const ForwardResults results = {output, log_sum_exp, output_gradient};
  SOFTLOOKUP_RETURN_IF_ERROR(CheckResults(results, options, sizes));
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
  const KernelProblem problem(inputs, options, sizes);
  SOFTLOOKUP_RETURN_IF_ERROR(problem.RefuseFullyMaskedRows());
  BackwardCall(problem, results, execution, views).Run();
  return gradients;
}

absl::Status AttentionBackwardInto(const AttentionInputs<float>& inputs,
                                   const AttentionOptions& options,
                                   const ConstView& output,
                                   const ConstView& log_sum_exp,
                                   const ConstView& output_gradient,
                                   const KernelOptions& execution,
                                   const BackwardViews& target) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const AttentionSizes sizes,
                              CheckKernelInputs(inputs, options));
  const ForwardResults results = {output, log_sum_exp, output_gradient};
  SOFTLOOKUP_RETURN_IF_ERROR(CheckResults(results, options, sizes));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckTargets(inputs, results, target));
  const KernelProblem problem(inputs, options, sizes);
  SOFTLOOKUP_RETURN_IF_ERROR(problem.RefuseFullyMaskedRows());
  BackwardCall(problem, results, execution, target).Run();
  return absl::OkStatus();
}

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

}  // namespace softlookup::kernels
