#include "experiments/saturation/retrieval_task.h"

#include <cmath>
#include <complex>
#include <vector>

#include "absl/types/span.h"
#include "attention/testing/gradient_check.h"
#include "base/random/random.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

using Complex = std::complex<double>;

constexpr RetrievalSizes kSmall = {.keys = 3,
                                   .d_model = 4,
                                   .d_head = 5,
                                   .value_width = 2,
                                   .batch = 6,
                                   .batches = 2,
                                   .evaluation = 7};

double Product(const Tensor<double>& a, const Tensor<double>& b) {
  double sum = 0;
  for (int64_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

Tensor<double> Gaussians(const Shape& shape, RandomStream& stream) {
  Tensor<double> tensor(shape);
  stream.FillGaussian(absl::MakeSpan(tensor.elements()));
  return tensor;
}

// The task's orthogonal matrix from its own sequences: the mean of u x^T over
// normalised Gaussian tokens tends to it.
Tensor<double> EstimatedPartnership(const RetrievalTask& task) {
  const int64_t d = task.evaluation.query.dim(1);
  Tensor<double> estimate({d, d});
  for (const RetrievalBatch& batch : task.training) {
    for (int64_t s = 0; s < batch.query.dim(0); ++s) {
      for (int64_t a = 0; a < d; ++a) {
        for (int64_t b = 0; b < d; ++b) {
          estimate(a, b) +=
              batch.query(s, a) * batch.token(s, batch.target[s], b);
        }
      }
    }
  }
  return estimate;
}

TEST(RetrievalTask, TokensAndQueriesAreNormalised) {
  const RetrievalTask task({}, /*seed=*/5);
  for (int64_t s = 0; s < 10; ++s) {
    double query = 0;
    double token = 0;
    for (int64_t i = 0; i < 16; ++i) {
      query += task.evaluation.query(s, i) * task.evaluation.query(s, i);
      token += task.evaluation.token(s, 3, i) * task.evaluation.token(s, 3, i);
    }
    EXPECT_NEAR(query, 16, 1e-12);
    EXPECT_NEAR(token, 16, 1e-12);
  }
}

TEST(RetrievalTask, OneMatrixSolvesEverySequenceThatIsNotTrainedOn) {
  const RetrievalSizes sizes;
  const RetrievalTask task(sizes, /*seed=*/5);
  Retriever<double> model = InitialRetriever(sizes, 1, 0, 5);
  const Tensor<double> partnership = EstimatedPartnership(task);
  for (int64_t a = 0; a < sizes.d_model; ++a) {
    model.key_weights(a, a) = 1;
    for (int64_t b = 0; b < sizes.d_model; ++b) {
      model.query_weights(a, b) = partnership(a, b);
    }
  }
  const RetrievalScore score = Evaluate(model, task.evaluation);
  EXPECT_EQ(score.accuracy, 1);
  EXPECT_LT(score.loss, 1e-6);
  EXPECT_GT(score.target_weight, 0.999);
  EXPECT_LT(score.entropy, 1e-3);
}

TEST(RetrievalTask, RandomTargetsHaveNothingToDoWithTheQuery) {
  const RetrievalSizes sizes = {.evaluation = 512};
  const RetrievalTask task(sizes, 5, RetrievalTargets::kRandom);
  Retriever<double> model = InitialRetriever(sizes, 1, 0, 5);
  const Tensor<double> partnership =
      EstimatedPartnership(RetrievalTask(sizes, 5));
  for (int64_t a = 0; a < sizes.d_model; ++a) {
    model.key_weights(a, a) = 1;
    for (int64_t b = 0; b < sizes.d_model; ++b) {
      model.query_weights(a, b) = partnership(a, b);
    }
  }
  // 1/16 with a standard error of 0.011.
  EXPECT_NEAR(Evaluate(model, task.evaluation).accuracy, 1 / 16.0, 0.05);
}

TEST(RetrievalLoss, ZeroWeightsAverageAllValues) {
  const RetrievalTask task(kSmall, 2);
  const RetrievalBatch& batch = task.evaluation;
  const Retriever<double> model = InitialRetriever(kSmall, 1, 0, 2);
  double expected = 0;
  for (int64_t s = 0; s < 7; ++s) {
    for (int64_t c = 0; c < 2; ++c) {
      const double mean =
          (batch.value(s, 0, c) + batch.value(s, 1, c) + batch.value(s, 2, c)) /
          3;
      const double error = mean - batch.value(s, batch.target[s], c);
      expected += error * error / 2 / 14;
    }
  }
  EXPECT_NEAR(RetrievalLoss(model, batch), expected, 1e-14);
  const RetrievalScore score = Evaluate(model, batch);
  EXPECT_NEAR(score.loss, expected, 1e-14);
  EXPECT_NEAR(score.entropy, std::log(3.0), 1e-14);
  EXPECT_NEAR(score.largest_weight, 1 / 3.0, 1e-15);
  EXPECT_NEAR(score.target_weight, 1 / 3.0, 1e-15);
  EXPECT_EQ(score.score_deviation, 0);
}

// The gradients against the complex step of the loss along a drawn direction.
TEST(RetrievalGradients, ComplexStepOnDrawnShapes) {
  RandomStream stream(/*seed=*/11, "retrieval gradient test");
  for (int c = 0; c < 1000; ++c) {
    SCOPED_TRACE(testing::Message() << "seed 11, case " << c);
    const RetrievalSizes sizes = {.keys = 1 + stream.UniformInt(4),
                                  .d_model = 1 + stream.UniformInt(4),
                                  .d_head = 1 + stream.UniformInt(4),
                                  .value_width = 1 + stream.UniformInt(3),
                                  .batch = 1 + stream.UniformInt(3),
                                  .batches = 1,
                                  .evaluation = 1};
    const RetrievalTask task(sizes, c);
    const RetrievalBatch& batch = task.training[0];
    const Retriever<double> model =
        InitialRetriever(sizes, 0.25 + stream.Uniform(), 1, c);
    const RetrieverGradients gradients = RetrievalGradients(model, batch);
    const Tensor<double> d_query =
        Gaussians(model.query_weights.shape(), stream);
    const Tensor<double> d_key = Gaussians(model.key_weights.shape(), stream);
    const Retriever<Complex> ahead = {model.scale,
                                      ComplexStep(model.query_weights, d_query),
                                      ComplexStep(model.key_weights, d_key)};
    const double expected = Derivative(RetrievalLoss(ahead, batch));
    const double found = Product(gradients.query_weights, d_query) +
                         Product(gradients.key_weights, d_key);
    // Both sum at most 4^3 terms of size under 100, each rounded to 1e-16,
    // through fewer than ten operations.
    EXPECT_NEAR(found, expected, 1e-12 * (1 + std::abs(expected)));
  }
}

TEST(InitialRetriever, GainScalesTheWeightsAndPreservesVariance) {
  const RetrievalSizes sizes;
  const Retriever<double> one = InitialRetriever(sizes, 1, 1, 3);
  const Retriever<double> two = InitialRetriever(sizes, 1, 2, 3);
  for (int64_t i = 0; i < one.key_weights.size(); ++i) {
    EXPECT_EQ(two.key_weights[i], 2 * one.key_weights[i]);
  }
  // The mean square of 2,048 entries of variance 1/16: 16 times it is 1 with
  // a standard error of sqrt(2 / 2048) = 0.03.
  EXPECT_NEAR(16 * Product(one.query_weights, one.query_weights) / 2048, 1,
              0.15);
  EXPECT_NE(one.query_weights[0], one.key_weights[0]);
}

TEST(Train, GradientDescentStep) {
  const RetrievalTask task(kSmall, 2);
  const Retriever<double> start = InitialRetriever(kSmall, 0.5, 1, 2);
  Retriever<double> model = start;
  const std::vector<RetrievalScore> curve =
      Train(task, {.rate = 0.25, .steps = 2}, model);
  EXPECT_EQ(curve.size(), 3);
  Retriever<double> expected = start;
  for (int step = 0; step < 2; ++step) {
    EXPECT_EQ(curve[step].loss, Evaluate(expected, task.evaluation).loss);
    const RetrieverGradients g =
        RetrievalGradients(expected, task.training[step]);
    for (int64_t i = 0; i < g.query_weights.size(); ++i) {
      expected.query_weights[i] -= 0.25 * g.query_weights[i];
      expected.key_weights[i] -= 0.25 * g.key_weights[i];
    }
  }
  EXPECT_EQ(model.query_weights.elements(), expected.query_weights.elements());
  EXPECT_EQ(model.key_weights.elements(), expected.key_weights.elements());
}

// Adam written out without its recursions: after t steps the mean is
// sum_i 0.1 0.9^(t-i) g_i / (1 - 0.9^t), and the square likewise.
TEST(Train, AdamSteps) {
  const RetrievalTask task(kSmall, 2);
  Retriever<double> expected = InitialRetriever(kSmall, 0.5, 1, 2);
  Retriever<double> model = expected;
  Train(task, {.optimiser = Optimiser::kAdam, .rate = 0.01, .steps = 3}, model);
  std::vector<RetrieverGradients> history;
  for (int t = 1; t <= 3; ++t) {
    // The third step takes the first of the two batches again.
    history.push_back(RetrievalGradients(expected, task.training[(t - 1) % 2]));
    for (int64_t k = 0; k < expected.key_weights.size(); ++k) {
      double mean = 0;
      double square = 0;
      for (int i = 1; i <= t; ++i) {
        const double g = history[i - 1].key_weights[k];
        mean += 0.1 * std::pow(0.9, t - i) * g / (1 - std::pow(0.9, t));
        square +=
            0.001 * std::pow(0.999, t - i) * g * g / (1 - std::pow(0.999, t));
      }
      expected.key_weights[k] -= 0.01 * mean / (std::sqrt(square) + 1e-8);
      mean = 0;
      square = 0;
      for (int i = 1; i <= t; ++i) {
        const double g = history[i - 1].query_weights[k];
        mean += 0.1 * std::pow(0.9, t - i) * g / (1 - std::pow(0.9, t));
        square +=
            0.001 * std::pow(0.999, t - i) * g * g / (1 - std::pow(0.999, t));
      }
      expected.query_weights[k] -= 0.01 * mean / (std::sqrt(square) + 1e-8);
    }
  }
  // 1 - 0.999^t cancels three digits of sixteen; steps are at most 0.01.
  for (int64_t k = 0; k < expected.key_weights.size(); ++k) {
    EXPECT_NEAR(model.key_weights[k], expected.key_weights[k], 1e-13);
    EXPECT_NEAR(model.query_weights[k], expected.query_weights[k], 1e-13);
  }
}

TEST(Train, StopsAtTheAccuracy) {
  const RetrievalSizes sizes;
  const RetrievalTask task(sizes, 1);
  Retriever<double> model = InitialRetriever(sizes, 1 / std::sqrt(128.0), 1, 1);
  const std::vector<RetrievalScore> curve =
      Train(task, {.rate = 3, .steps = 60, .stop_at_accuracy = 0.5}, model);
  EXPECT_LT(curve.size(), 60);
  EXPECT_GE(curve.back().accuracy, 0.5);
  EXPECT_LT(curve[curve.size() - 2].accuracy, 0.5);
  EXPECT_EQ(StepsToAccuracy(curve, 0.5), curve.size() - 1);
  EXPECT_EQ(StepsToAccuracy(curve, 1.5), curve.size());
  EXPECT_EQ(StepsToAccuracy(curve, 0), 0);
}

}  // namespace
}  // namespace softlookup
