#include "experiments/soft_lookup/lookup_learning.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "attention/testing/gradient_check.h"
#include "attention/textbook/single_head.h"
#include "base/random/random.h"
#include "base/status.h"
#include "base/tensor/matrix.h"
#include "base/tensor/tensor.h"

namespace softlookup {
namespace {

constexpr int64_t kTokens = 4;
constexpr int64_t kWidth = 16;      // of the tokens
constexpr int64_t kHeadWidth = 8;   // of queries, keys and values
constexpr double kRate = 0.2;       // of gradient descent
constexpr double kHardStep = 1e-6;  // of the hard loss's differences

struct Task {
  Tensor<double> tokens;        // X, [T, width]
  Tensor<double> query_matrix;  // W_Q, [width, head width]
  Tensor<double> key_matrix;    // W_K
  Tensor<double> value_matrix;  // W_V

  Tensor<double> query() const { return MatrixProduct(tokens, query_matrix); }
  Tensor<double> key() const { return MatrixProduct(tokens, key_matrix); }
  Tensor<double> value() const { return MatrixProduct(tokens, value_matrix); }
};

Task Draw(RandomStream& stream) {
  const double scale = 1 / std::sqrt(static_cast<double>(kWidth));
  Task task;
  task.tokens = GaussianMatrix(stream, kTokens, kWidth, 1);
  task.query_matrix = GaussianMatrix(stream, kWidth, kHeadWidth, scale);
  task.key_matrix = GaussianMatrix(stream, kWidth, kHeadWidth, scale);
  task.value_matrix = GaussianMatrix(stream, kWidth, kHeadWidth, scale);
  return task;
}

// The token whose value token i wants.
int64_t Wanted(int64_t i) { return (i + 1) % kTokens; }

// Row i is the value that token i wants.
Tensor<double> WantedOutput(const Task& task) {
  const Tensor<double> value = task.value();
  Tensor<double> wanted(value.shape());
  for (int64_t i = 0; i < kTokens; ++i) {
    for (int64_t c = 0; c < kHeadWidth; ++c) {
      wanted(i, c) = value(Wanted(i), c);
    }
  }
  return wanted;
}

// The mean squared difference of an output from the wanted one.
double Loss(const Tensor<double>& output, const Tensor<double>& wanted) {
  double sum = 0;
  for (int64_t n = 0; n < output.size(); ++n) {
    sum += (output[n] - wanted[n]) * (output[n] - wanted[n]);
  }
  return sum / static_cast<double>(output.size());
}

struct SoftStep {
  double loss = 0;
  double weight_on_wanted = 0;  // averaged over the tokens
  Tensor<double> query_matrix_gradient;
  Tensor<double> key_matrix_gradient;
  Tensor<double> value_matrix_gradient;
};

absl::StatusOr<SoftStep> EvaluateSoft(const Task& task,
                                      const Tensor<double>& wanted) {
  const Tensor<double> query = task.query();
  const Tensor<double> key = task.key();
  const Tensor<double> value = task.value();
  SOFTLOOKUP_ASSIGN_OR_RETURN(const HeadOutputs<double> head,
                              HeadForward(query, key, value, {}));
  SoftStep step;
  step.loss = Loss(head.output, wanted);
  for (int64_t i = 0; i < kTokens; ++i) {
    step.weight_on_wanted +=
        head.weights(i, Wanted(i)) / static_cast<double>(kTokens);
  }
  // loss = mean (O - wanted)^2
  Tensor<double> d_output(head.output.shape());
  for (int64_t n = 0; n < d_output.size(); ++n) {
    d_output[n] =
        2 * (head.output[n] - wanted[n]) / static_cast<double>(d_output.size());
  }
  SOFTLOOKUP_ASSIGN_OR_RETURN(const HeadGradients gradients,
                              HeadBackward(query, key, value, {}, d_output));
  // Q = X W_Q and so on
  const Tensor<double> transposed = Transposed(task.tokens);
  step.query_matrix_gradient = MatrixProduct(transposed, gradients.query);
  step.key_matrix_gradient = MatrixProduct(transposed, gradients.key);
  step.value_matrix_gradient = MatrixProduct(transposed, gradients.value);
  return step;
}

// The best key of each query, its value copied.
double HardLoss(const Task& task, const Tensor<double>& wanted) {
  const Tensor<double> scores =
      MatrixProduct(task.query(), Transposed(task.key()));
  const Tensor<double> value = task.value();
  Tensor<double> output(value.shape());
  for (int64_t i = 0; i < kTokens; ++i) {
    int64_t best = 0;
    for (int64_t j = 1; j < kTokens; ++j) {
      if (scores(i, j) > scores(i, best)) best = j;
    }
    for (int64_t c = 0; c < kHeadWidth; ++c) output(i, c) = value(best, c);
  }
  return Loss(output, wanted);
}

// The hard loss's gradient in one projection, by central differences.
Tensor<double> HardGradient(const Task& task, const Tensor<double>& wanted,
                            Tensor<double> Task::*matrix) {
  const Tensor<double>& at = task.*matrix;
  return Tensor<double>(
      at.shape(), CentralDifferenceGradient(
                      [&](absl::Span<const double> x) {
                        Task moved = task;
                        (moved.*matrix).elements().assign(x.begin(), x.end());
                        return HardLoss(moved, wanted);
                      },
                      at.elements(), kHardStep));
}

void Descend(const Tensor<double>& gradient, Tensor<double>& matrix) {
  for (int64_t n = 0; n < matrix.size(); ++n) matrix[n] -= kRate * gradient[n];
}

// The mean over the draws, with its range.
Json MeanAndRange(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return {{"mean", sum / static_cast<double>(values.size())},
          {"range", {*low, *high}}};
}

// What every draw contributes.
struct Found {
  std::vector<double> soft_ratio;
  std::vector<double> hard_ratio;
  std::vector<double> weight_before;
  std::vector<double> weight_after;
  std::vector<double> soft_gradient;
  std::vector<double> hard_gradient;
  std::vector<double> value_gradient;
};

absl::Status LearnOnce(const Task& drawn, int64_t steps, Found& found,
                       Json* curve) {
  // W_V stays, and with it what is wanted.
  const Tensor<double> wanted = WantedOutput(drawn);
  Task soft = drawn;
  Task hard = drawn;
  SOFTLOOKUP_ASSIGN_OR_RETURN(const SoftStep first, EvaluateSoft(soft, wanted));
  const double hard_first = HardLoss(hard, wanted);
  bool hard_stands_still = false;
  for (int64_t step = 0; step < steps; ++step) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(const SoftStep now, EvaluateSoft(soft, wanted));
    if (curve != nullptr) {
      (*curve)["soft"].push_back(now.loss);
      (*curve)["hard"].push_back(HardLoss(hard, wanted));
    }
    Descend(now.query_matrix_gradient, soft.query_matrix);
    Descend(now.key_matrix_gradient, soft.key_matrix);
    // Where the gradient is zero the next step starts from the same point and
    // finds the same gradient: there is no need to look again.
    if (hard_stands_still) continue;
    const Tensor<double> hard_query =
        HardGradient(hard, wanted, &Task::query_matrix);
    const Tensor<double> hard_key =
        HardGradient(hard, wanted, &Task::key_matrix);
    Descend(hard_query, hard.query_matrix);
    Descend(hard_key, hard.key_matrix);
    const double size =
        std::max(LargestMagnitude(hard_query), LargestMagnitude(hard_key));
    if (step == 0) found.hard_gradient.push_back(size);
    hard_stands_still = size == 0;
  }
  SOFTLOOKUP_ASSIGN_OR_RETURN(const SoftStep last, EvaluateSoft(soft, wanted));
  found.soft_ratio.push_back(last.loss / first.loss);
  // A hard lookup may be right from the start, and then stays so.
  const double hard_last = HardLoss(hard, wanted);
  found.hard_ratio.push_back(hard_last == hard_first ? 1
                                                     : hard_last / hard_first);
  found.weight_before.push_back(first.weight_on_wanted);
  found.weight_after.push_back(last.weight_on_wanted);
  found.soft_gradient.push_back(
      std::min(LargestMagnitude(first.query_matrix_gradient),
               LargestMagnitude(first.key_matrix_gradient)));
  found.value_gradient.push_back(LargestMagnitude(first.value_matrix_gradient));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Json> MeasureLookupLearning(const LearningDraws& draws) {
  RandomStream stream(draws.seed, "lookup learning");
  Found found;
  Json curve;
  for (int64_t n = 0; n < draws.draws; ++n) {
    SOFTLOOKUP_RETURN_IF_ERROR(
        LearnOnce(Draw(stream), draws.steps, found, n == 0 ? &curve : nullptr));
  }
  Json json;
  json["draws"] = draws.draws;
  json["steps"] = draws.steps;
  json["tokens"] = kTokens;
  json["learning_rate"] = kRate;
  json["soft_loss_last_over_first"] = MeanAndRange(found.soft_ratio);
  json["hard_loss_last_over_first"] = MeanAndRange(found.hard_ratio);
  json["soft_weight_on_wanted_before"] = MeanAndRange(found.weight_before);
  json["soft_weight_on_wanted_after"] = MeanAndRange(found.weight_after);
  json["soft_query_or_key_gradient"] = MeanAndRange(found.soft_gradient);
  json["soft_value_gradient"] = MeanAndRange(found.value_gradient);
  json["hard_query_or_key_gradient"] = MeanAndRange(found.hard_gradient);
  json["loss_curve_of_first_draw"] = std::move(curve);
  return json;
}

}  // namespace softlookup
