#include "experiments/multi_head/steps.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "attention/mask.h"
#include "attention/reference/multi_head.h"
#include "attention/textbook/boolean_mask.h"
#include "attention/textbook/dimension_names.h"
#include "attention/textbook/hand_attention.h"
#include "attention/textbook/streaming_attention.h"
#include "base/status.h"
#include "base/tensor/deviation.h"
#include "base/tensor/matrix_product.h"
#include "base/tensor/strided_view.h"
#include "base/tensor/tensor.h"

namespace softlookup {
namespace {

constexpr double kUnit = std::numeric_limits<double>::epsilon() / 2;

// x W for every position: [B, T, d] times [d, n] -> [B, T, n].
Tensor<double> Project(const Tensor<double>& x, const Tensor<double>& weight) {
  Tensor<double> product =
      MatrixProduct<double>(x.view().MergeAxes(0, 2).value(), weight.view());
  return Tensor<double>({x.dim(0), x.dim(1), weight.dim(1)},
                        std::move(product.elements()));
}

// Records the lines of the listing in order.
class StepRecorder {
 public:
  explicit StepRecorder(const DimensionNames& names) : names_(names) {}

  // A line that made new elements.
  void Computed(const std::string& name, const std::string& line,
                const Tensor<double>& tensor) {
    Add(name, line, tensor.view().layout());
    steps_[name]["elements_computed"] = tensor.size();
    memory_ = tensor.data();
  }

  // A line that only looks at elements in another order: it moved none if they
  // lie where the line before left them.
  void Viewed(const std::string& name, const std::string& line,
              const StridedView<const double>& view) {
    Add(name, line, view.layout());
    steps_[name]["elements_moved"] =
        view.data() == memory_ ? 0 : NumElements(view.shape()).value();
    memory_ = view.data();
  }

  Json Take() { return std::move(steps_); }

 private:
  void Add(const std::string& name, const std::string& line,
           const StridedLayout& layout) {
    Json step = {{"line", line}};
    step.update(names_.ToJson(layout.shape));
    step["strides"] = layout.strides;
    step["contiguous"] = layout.IsContiguous() ? 1 : 0;
    steps_[name] = std::move(step);
  }

  const DimensionNames& names_;
  const double* memory_ = nullptr;
  Json steps_ = Json::object();
};

// The largest sum_c |a_ic| |b_cj| of a product A B.
double LargestMagnitudeSum(const StridedView<const double>& a,
                           const Tensor<double>& b) {
  double largest = 0;
  for (int64_t i = 0; i < a.dim(0); ++i) {
    for (int64_t j = 0; j < b.dim(1); ++j) {
      double sum = 0;
      for (int64_t c = 0; c < a.dim(1); ++c) {
        sum += std::abs(a(i, c) * b(c, j));
      }
      largest = LargerOrNaN(largest, sum);
    }
  }
  return largest;
}

}  // namespace

absl::StatusOr<Json> MeasureSteps(uint64_t seed, const MultiHeadSizes& sizes) {
  const MultiHeadProblem problem = DrawMultiHead(seed, sizes);
  const MultiHeadWeights<double>& weights = problem.weights;
  const int64_t h = sizes.heads;
  const int64_t dk = sizes.head_width();
  const DimensionNames names({{"B", sizes.batch},
                              {"T", sizes.positions},
                              {"d", sizes.width},
                              {"h", sizes.heads},
                              {"dk", sizes.head_width()}});
  StepRecorder steps(names);
  const auto split = [h, dk](const Tensor<double>& x) {
    return x.view().SplitAxis(2, {h, dk});
  };

  steps.Computed("inputs", "inputs", problem.x);
  const Tensor<double> projected_q = Project(problem.x, weights.query);
  steps.Computed("projected", "project by W_Q", projected_q);
  steps.Viewed("split", "split d into h heads", split(projected_q));
  const auto q = split(projected_q).Transpose(1, 2);
  steps.Viewed("by_head", "exchange T and h", q);
  const Tensor<double> projected_k = Project(problem.x, weights.key);
  const auto k = split(projected_k).Transpose(1, 2);
  const Tensor<double> projected_v = Project(problem.x, weights.value);
  const auto v = split(projected_v).Transpose(1, 2);
  const Tensor<double> s = HandScores<double>(q, k);
  steps.Computed("scores", "scores of all heads", s);
  const Tensor<double> p =
      HandSoftmax(MaskedFill(s, CausalMask(sizes.positions),
                             -std::numeric_limits<double>::infinity()));
  steps.Computed("weights", "causal softmax", p);
  const Tensor<double> averages = BatchedProduct<double>(p.view(), v);
  steps.Computed("averages", "averages of values", averages);
  const auto y = averages.view().Transpose(1, 2);
  steps.Viewed("averages_by_position", "exchange h and T", y);
  const MergedHeads<double> merged = MergeHeads<double>(averages.view());
  steps.Viewed("merged", "merge the heads", merged.view);
  const Tensor<double> joined = Copy(merged.view);
  const Tensor<double> out = Project(joined, weights.output);
  steps.Computed("output", "project by W_O", out);

  Json result;
  result["steps"] = steps.Take();
  result["blocks"] = {
      {"W_Q", names.ToJson(weights.query.shape())},
      {"W_O", names.ToJson(weights.output.shape())},
      {"W_Q of a head", names.ToJson(weights.QueryBlock(0).shape())},
      {"W_O of a head", names.ToJson(weights.OutputBlock(0).shape())},
      {"output of a head", names.ToJson({averages.dim(2), averages.dim(3)})}};
  result["heads_times_head_width_from_d"] =
      std::abs(q.dim(1) * q.dim(3) - sizes.width);
  result["score_matrices_in_one_product"] = s.dim(0) * s.dim(1);
  result["score_matrices_from_B_h"] =
      std::abs(s.dim(0) * s.dim(1) - sizes.batch * h);
  result["distributions_per_query"] = p.dim(1);
  double row_sum_deviation = 0;
  for (int64_t row = 0; row < p.size() / sizes.positions; ++row) {
    double sum = 0;
    for (int64_t j = 0; j < sizes.positions; ++j) {
      sum += p[row * sizes.positions + j];
    }
    row_sum_deviation = LargerOrNaN(row_sum_deviation, std::abs(sum - 1));
  }
  result["row_sum_deviation"] = row_sum_deviation;

  // The merge as a view, and what reshape does.
  const bool view_merges = y.MergeAxes(2, 2).ok();
  result["merge"]["transposed_heads_merge_as_a_view"] = view_merges ? 1 : 0;
  result["merge"]["split_heads_merge_as_a_view"] =
      split(projected_q).MergeAxes(2, 2).ok() ? 1 : 0;
  result["merge"]["reshape_of_averages_copies_elements"] =
      merged.copy.has_value() ? merged.copy->size() : 0;
  const MergedHeads<double> back = MergeHeads<double>(q);
  result["merge"]["reshape_of_split_projection_copies_elements"] =
      back.copy.has_value() ? back.copy->size() : 0;
  // Other views of the same transposed, non-contiguous tensor: each head in
  // two halves, and the halves merged again.
  const bool even = y.dim(3) % 2 == 0;
  result["merge"]["transposed_heads_split_in_halves_as_a_view"] =
      even && y.SplitAxis(3, {2, y.dim(3) / 2}).MergeAxes(3, 2).ok() ? 1 : 0;

  // Head i's queries out of its own column block of W_Q.
  double block_difference = 0;
  const auto rows = problem.x.view().MergeAxes(0, 2).value();
  for (int64_t head = 0; head < h; ++head) {
    const Tensor<double> own =
        MatrixProduct<double>(rows, weights.QueryBlock(head));
    const auto own_view =
        own.view().SplitAxis(0, {sizes.batch, sizes.positions});
    for (int64_t b = 0; b < sizes.batch; ++b) {
      for (int64_t t = 0; t < sizes.positions; ++t) {
        for (int64_t c = 0; c < dk; ++c) {
          block_difference = LargerOrNaN(
              block_difference, std::abs(own_view(b, t, c) - q(b, head, t, c)));
        }
      }
    }
  }
  result["queries_of_column_block_difference"] = block_difference;

  // The lines against the operator. Heads differ by at most b (see
  // StreamingErrorBound, which allows for more), which W_O multiplies by at
  // most its largest column sum; both then sum d products.
  MultiHeadOptions options;
  options.mask.causal = CausalAlignment::kTopLeft;
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const MultiHeadOutputs<double> operator_outputs,
      MultiHeadForward<double>(problem.x.view(), weights, options));
  const double head_bound =
      StreamingErrorBound(LargestMagnitude(s), sizes.positions,
                          LargestMagnitude(projected_v), kUnit);
  const Tensor<double> ones({1, sizes.width},
                            std::vector<double>(sizes.width, 1.0));
  const double bound =
      head_bound * LargestMagnitudeSum(ones.view(), weights.output) +
      1.01 * 2 * static_cast<double>(sizes.width) * kUnit *
          LargestMagnitudeSum(joined.view().MergeAxes(0, 2).value(),
                              weights.output);
  const double difference = LargestDifference(out, operator_outputs.output);
  result["operator"]["largest_difference"] = difference;
  result["operator"]["bound"] = bound;
  result["operator"]["difference_over_bound"] = difference / bound;
  return result;
}

}  // namespace softlookup
