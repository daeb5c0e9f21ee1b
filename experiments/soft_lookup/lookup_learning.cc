#include "experiments/soft_lookup/lookup_learning.h"

#include <cmath>
#include <vector>

#include "absl/types/span.h"
#include "attention/testing/gradient_check.h"
#include "attention/textbook/single_head.h"
#include "base/status.h"
#include "base/tensor/deviation.h"
#include "base/tensor/matrix.h"

namespace softlookup {
namespace {

constexpr int64_t kTokens = 4;
constexpr int64_t kWidth = 16;      // of the tokens
constexpr int64_t kHeadWidth = 8;   // of queries, keys and values
constexpr double kRate = 0.2;       // of gradient descent
constexpr double kHardStep = 1e-6;  // of the hard loss's differences

Tensor<double> Query(const LearningTask& task) {
  return MatrixProduct(task.tokens, task.query_matrix);
}
Tensor<double> Key(const LearningTask& task) {
  return MatrixProduct(task.tokens, task.key_matrix);
}
Tensor<double> Value(const LearningTask& task) {
  return MatrixProduct(task.tokens, task.value_matrix);
}

// The token whose value token i wants.
int64_t Wanted(int64_t i) { return (i + 1) % kTokens; }

// Row i is the value that token i wants.
Tensor<double> WantedOutput(const LearningTask& task) {
  const Tensor<double> value = Value(task);
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

absl::StatusOr<SoftStep> EvaluateSoft(const LearningTask& task,
                                      const Tensor<double>& wanted) {
  const Tensor<double> query = Query(task);
  const Tensor<double> key = Key(task);
  const Tensor<double> value = Value(task);
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
double HardLoss(const LearningTask& task, const Tensor<double>& wanted) {
  const Tensor<double> scores =
      MatrixProduct(Query(task), Transposed(Key(task)));
  // No key is the best when a score is none.
  if (CountNaN(scores) > 0) return std::nan("");
  const Tensor<double> value = Value(task);
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
Tensor<double> HardGradient(const LearningTask& task,
                            const Tensor<double>& wanted,
                            Tensor<double> LearningTask::*matrix) {
  const Tensor<double>& at = task.*matrix;
  return Tensor<double>(
      at.shape(), CentralDifferenceGradient(
                      [&](absl::Span<const double> x) {
                        LearningTask moved = task;
                        (moved.*matrix).elements().assign(x.begin(), x.end());
                        return HardLoss(moved, wanted);
                      },
                      at.elements(), kHardStep));
}

void Descend(const Tensor<double>& gradient, Tensor<double>& matrix) {
  for (int64_t n = 0; n < matrix.size(); ++n) matrix[n] -= kRate * gradient[n];
}

}  // namespace

LearningTask DrawLearningTask(RandomStream& stream) {
  const double scale = 1 / std::sqrt(static_cast<double>(kWidth));
  LearningTask task;
  task.tokens = GaussianMatrix(stream, kTokens, kWidth, 1);
  task.query_matrix = GaussianMatrix(stream, kWidth, kHeadWidth, scale);
  task.key_matrix = GaussianMatrix(stream, kWidth, kHeadWidth, scale);
  task.value_matrix = GaussianMatrix(stream, kWidth, kHeadWidth, scale);
  return task;
}

absl::StatusOr<LearningEffects<double>> LearnOnce(const LearningTask& task,
                                                  int64_t steps,
                                                  LossCurves* curves) {
  // W_V stays, and with it what is wanted.
  const Tensor<double> wanted = WantedOutput(task);
  LearningTask soft = task;
  LearningTask hard = task;
  LearningEffects<double> found;
  SOFTLOOKUP_ASSIGN_OR_RETURN(const SoftStep first, EvaluateSoft(soft, wanted));
  const double hard_first = HardLoss(hard, wanted);
  bool hard_stands_still = false;
  for (int64_t step = 0; step < steps; ++step) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(const SoftStep now, EvaluateSoft(soft, wanted));
    if (curves != nullptr) {
      curves->soft.push_back(now.loss);
      curves->hard.push_back(HardLoss(hard, wanted));
    }
    Descend(now.query_matrix_gradient, soft.query_matrix);
    Descend(now.key_matrix_gradient, soft.key_matrix);
    // Where the gradient is zero the next step starts from the same point and
    // finds the same gradient: there is no need to look again.
    if (hard_stands_still) continue;
    const Tensor<double> hard_query =
        HardGradient(hard, wanted, &LearningTask::query_matrix);
    const Tensor<double> hard_key =
        HardGradient(hard, wanted, &LearningTask::key_matrix);
    Descend(hard_query, hard.query_matrix);
    Descend(hard_key, hard.key_matrix);
    const double size =
        LargerOrNaN(LargestMagnitude(hard_query), LargestMagnitude(hard_key));
    if (step == 0) found.hard_query_or_key_gradient = size;
    hard_stands_still = size == 0;
  }
  SOFTLOOKUP_ASSIGN_OR_RETURN(const SoftStep last, EvaluateSoft(soft, wanted));
  found.soft_loss_last_over_first = last.loss / first.loss;
  // A hard lookup may be right from the start, and then stays so.
  const double hard_last = HardLoss(hard, wanted);
  found.hard_loss_last_over_first =
      hard_last == hard_first ? 1 : hard_last / hard_first;
  found.soft_weight_on_wanted_before = first.weight_on_wanted;
  found.soft_weight_on_wanted_after = last.weight_on_wanted;
  Smallest gradient;
  gradient.See(LargestMagnitude(first.query_matrix_gradient));
  gradient.See(LargestMagnitude(first.key_matrix_gradient));
  found.soft_query_or_key_gradient = gradient.value();
  found.soft_value_gradient = LargestMagnitude(first.value_matrix_gradient);
  return found;
}

absl::StatusOr<LookupLearningResults> MeasureLookupLearning(
    const LearningDraws& draws) {
  using One = LearningEffects<double>;
  RandomStream stream(draws.seed, "lookup learning");
  LookupLearningResults found;
  found.draws = draws.draws;
  found.steps = draws.steps;
  found.tokens = kTokens;
  found.learning_rate = kRate;
  std::vector<One> all;
  for (int64_t n = 0; n < draws.draws; ++n) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        all.emplace_back(),
        LearnOnce(DrawLearningTask(stream), draws.steps,
                  n == 0 ? &found.curves_of_first_draw : nullptr));
  }
  found.effects = {MeanAndRangeOf(all, &One::soft_loss_last_over_first),
                   MeanAndRangeOf(all, &One::hard_loss_last_over_first),
                   MeanAndRangeOf(all, &One::soft_weight_on_wanted_before),
                   MeanAndRangeOf(all, &One::soft_weight_on_wanted_after),
                   MeanAndRangeOf(all, &One::soft_query_or_key_gradient),
                   MeanAndRangeOf(all, &One::soft_value_gradient),
                   MeanAndRangeOf(all, &One::hard_query_or_key_gradient)};
  return found;
}

}  // namespace softlookup
