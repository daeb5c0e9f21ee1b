#include "experiments/saturation/retrieval_task.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numeric>

#include "absl/types/span.h"
#include "attention/softmax.h"
#include "base/elementary.h"

namespace softlookup {
namespace {

// The unknown orthogonal matrix: entry i of a partner is `sign[i]` times entry
// `source[i]` of its token.
struct Partnership {
  std::vector<int64_t> source;
  std::vector<double> sign;
};

Partnership DrawPartnership(int64_t width, RandomStream& stream) {
  Partnership partnership;
  partnership.source.resize(width);
  std::iota(partnership.source.begin(), partnership.source.end(), 0);
  stream.Shuffle(absl::MakeSpan(partnership.source));
  for (int64_t i = 0; i < width; ++i) {
    partnership.sign.push_back(stream.Sign());
  }
  return partnership;
}

RetrievalBatch DrawBatch(const RetrievalSizes& sizes, int64_t count,
                         RetrievalTargets targets,
                         const Partnership& partnership, RandomStream& stream) {
  RetrievalBatch batch;
  batch.query = Tensor<double>({count, sizes.d_model});
  batch.token = Tensor<double>({count, sizes.keys, sizes.d_model});
  batch.value = Tensor<double>({count, sizes.keys, sizes.value_width});
  stream.FillGaussian(absl::MakeSpan(batch.token.elements()));
  stream.FillGaussian(absl::MakeSpan(batch.value.elements()));
  for (int64_t s = 0; s < count; ++s) {
    for (int64_t j = 0; j < sizes.keys; ++j) {
      double square = 0;
      for (int64_t i = 0; i < sizes.d_model; ++i) {
        square += batch.token(s, j, i) * batch.token(s, j, i);
      }
      const double root =
          std::sqrt(square / static_cast<double>(sizes.d_model));
      for (int64_t i = 0; i < sizes.d_model; ++i) batch.token(s, j, i) /= root;
    }
    const auto keys = static_cast<uint32_t>(sizes.keys);
    const int64_t asked = stream.UniformInt(keys);
    for (int64_t i = 0; i < sizes.d_model; ++i) {
      batch.query(s, i) =
          partnership.sign[i] * batch.token(s, asked, partnership.source[i]);
    }
    batch.target.push_back(targets == RetrievalTargets::kPartner
                               ? asked
                               : stream.UniformInt(keys));
  }
  return batch;
}

// Row (i, j, ...) of a tensor: its last axis. Inner loops run over plain
// pointers, because thousands of training steps wait for them.
template <typename T, typename... Index>
T* RowOf(Tensor<T>& tensor, Index... indices) {
  return &tensor(indices..., 0);
}
template <typename T, typename... Index>
const T* RowOf(const Tensor<T>& tensor, Index... indices) {
  return &tensor(indices..., 0);
}

// scale W_Q W_K^T, [d, d]: s_j = u M x_j. One product for the whole batch in
// place of a projection per token.
template <typename T>
Tensor<T> ScoreMatrix(const Retriever<T>& model) {
  const int64_t d = model.query_weights.dim(0);
  const int64_t d_head = model.query_weights.dim(1);
  Tensor<T> matrix({d, d});
  for (int64_t a = 0; a < d; ++a) {
    const T* query_row = RowOf(model.query_weights, a);
    for (int64_t b = 0; b < d; ++b) {
      const T* key_row = RowOf(model.key_weights, b);
      T sum = T(0);
      for (int64_t i = 0; i < d_head; ++i) {
        sum += query_row[i] * key_row[i];
      }
      matrix(a, b) = sum * model.scale;
    }
  }
  return matrix;
}

// The scores of sequence s, [n].
template <typename T>
std::vector<T> Scores(const Tensor<T>& matrix, const RetrievalBatch& batch,
                      int64_t s) {
  const int64_t d = batch.query.dim(1);
  std::vector<T> projected(d, T(0));  // u M
  const double* query = RowOf(batch.query, s);
  for (int64_t a = 0; a < d; ++a) {
    const T* matrix_row = RowOf(matrix, a);
    for (int64_t b = 0; b < d; ++b) projected[b] += query[a] * matrix_row[b];
  }
  std::vector<T> scores(batch.token.dim(1), T(0));
  for (size_t j = 0; j < scores.size(); ++j) {
    const double* token = RowOf(batch.token, s, j);
    for (int64_t b = 0; b < d; ++b) scores[j] += projected[b] * token[b];
  }
  return scores;
}

// o - v_target of sequence s, [d_v].
template <typename T>
std::vector<T> Residual(const std::vector<T>& weights,
                        const RetrievalBatch& batch, int64_t s) {
  std::vector<T> residual(batch.value.dim(2), T(0));
  for (size_t j = 0; j < weights.size(); ++j) {
    const double* value = RowOf(batch.value, s, j);
    for (size_t c = 0; c < residual.size(); ++c) {
      residual[c] += weights[j] * value[c];
    }
  }
  const double* wanted = RowOf(batch.value, s, batch.target[s]);
  for (size_t c = 0; c < residual.size(); ++c) residual[c] -= wanted[c];
  return residual;
}

// The number of terms that the loss is a mean of.
double Terms(const RetrievalBatch& batch) {
  return static_cast<double>(batch.value.dim(0) * batch.value.dim(2));
}

// One optimiser step on one matrix.
class Updater {
 public:
  Updater(const TrainingOptions& options, int64_t size)
      : options_(options), mean_(size, 0.0), square_(size, 0.0) {}

  void Step(const Tensor<double>& gradient, Tensor<double>& weights) {
    if (options_.optimiser == Optimiser::kGradientDescent) {
      for (int64_t i = 0; i < weights.size(); ++i) {
        weights[i] -= options_.rate * gradient[i];
      }
      return;
    }
    mean_power_ *= kMeanDecay;
    square_power_ *= kSquareDecay;
    for (int64_t i = 0; i < weights.size(); ++i) {
      mean_[i] = kMeanDecay * mean_[i] + (1 - kMeanDecay) * gradient[i];
      square_[i] = kSquareDecay * square_[i] +
                   (1 - kSquareDecay) * gradient[i] * gradient[i];
      const double mean = mean_[i] / (1 - mean_power_);
      const double square = square_[i] / (1 - square_power_);
      weights[i] -= options_.rate * mean / (std::sqrt(square) + kEpsilon);
    }
  }

 private:
  static constexpr double kMeanDecay = 0.9;
  static constexpr double kSquareDecay = 0.999;
  static constexpr double kEpsilon = 1e-8;

  const TrainingOptions options_;
  std::vector<double> mean_;
  std::vector<double> square_;
  double mean_power_ = 1;
  double square_power_ = 1;
};

}  // namespace

RetrievalTask::RetrievalTask(const RetrievalSizes& sizes, uint64_t seed,
                             RetrievalTargets targets) {
  RandomStream partner_stream(seed, "retrieval partnership");
  RandomStream training_stream(seed, "retrieval training data");
  RandomStream evaluation_stream(seed, "retrieval evaluation data");
  const Partnership partnership =
      DrawPartnership(sizes.d_model, partner_stream);
  for (int64_t batch = 0; batch < sizes.batches; ++batch) {
    training.push_back(
        DrawBatch(sizes, sizes.batch, targets, partnership, training_stream));
  }
  evaluation = DrawBatch(sizes, sizes.evaluation, targets, partnership,
                         evaluation_stream);
}

Retriever<double> InitialRetriever(const RetrievalSizes& sizes, double scale,
                                   double gain, uint64_t seed) {
  Retriever<double> model{
      .scale = scale,
      .query_weights = Tensor<double>({sizes.d_model, sizes.d_head}),
      .key_weights = Tensor<double>({sizes.d_model, sizes.d_head})};
  const double deviation = gain / std::sqrt(static_cast<double>(sizes.d_model));
  RandomStream stream(seed, "retrieval weights");
  for (Tensor<double>* weights : {&model.query_weights, &model.key_weights}) {
    stream.FillGaussian(absl::MakeSpan(weights->elements()));
    for (double& weight : weights->elements()) weight *= deviation;
  }
  return model;
}

template <typename T>
T RetrievalLoss(const Retriever<T>& model, const RetrievalBatch& batch) {
  const Tensor<T> matrix = ScoreMatrix(model);
  T loss = T(0);
  for (int64_t s = 0; s < batch.query.dim(0); ++s) {
    const std::vector<T> p = Softmax<T>(Scores(matrix, batch, s));
    for (const T& error : Residual(p, batch, s)) loss += error * error;
  }
  return loss / (2 * Terms(batch));
}

template double RetrievalLoss(const Retriever<double>&, const RetrievalBatch&);
template std::complex<double> RetrievalLoss(
    const Retriever<std::complex<double>>&, const RetrievalBatch&);

RetrieverGradients RetrievalGradients(const Retriever<double>& model,
                                      const RetrievalBatch& batch) {
  const int64_t d = batch.query.dim(1);
  const Tensor<double> matrix = ScoreMatrix(model);
  const double terms = Terms(batch);
  Tensor<double> d_matrix({d, d});
  for (int64_t s = 0; s < batch.query.dim(0); ++s) {
    const std::vector<double> p = Softmax<double>(Scores(matrix, batch, s));
    const std::vector<double> residual = Residual(p, batch, s);
    // loss = sum of residual^2 / (2 terms), residual = sum_j p_j v_j - target
    std::vector<double> d_p(p.size(), 0.0);
    for (size_t j = 0; j < p.size(); ++j) {
      const double* value = RowOf(batch.value, s, j);
      for (size_t c = 0; c < residual.size(); ++c) {
        d_p[j] += residual[c] * value[c] / terms;
      }
    }
    // p = softmax(s)
    const std::vector<double> d_s = SoftmaxJacobianProduct<double>(p, d_p);
    // s_j = u M x_j
    std::vector<double> d_projected(d, 0.0);
    for (size_t j = 0; j < p.size(); ++j) {
      const double* token = RowOf(batch.token, s, j);
      for (int64_t b = 0; b < d; ++b) d_projected[b] += d_s[j] * token[b];
    }
    for (int64_t a = 0; a < d; ++a) {
      const double u = batch.query(s, a);
      double* matrix_row = RowOf(d_matrix, a);
      for (int64_t b = 0; b < d; ++b) matrix_row[b] += u * d_projected[b];
    }
  }
  // M = scale W_Q W_K^T
  RetrieverGradients gradients{Tensor<double>(model.query_weights.shape()),
                               Tensor<double>(model.key_weights.shape())};
  const int64_t d_head = model.query_weights.dim(1);
  for (int64_t a = 0; a < d; ++a) {
    const double* query_row = RowOf(model.query_weights, a);
    double* d_query_row = RowOf(gradients.query_weights, a);
    for (int64_t b = 0; b < d; ++b) {
      const double* key_row = RowOf(model.key_weights, b);
      double* d_key_row = RowOf(gradients.key_weights, b);
      const double factor = d_matrix(a, b) * model.scale;
      for (int64_t i = 0; i < d_head; ++i) {
        d_query_row[i] += factor * key_row[i];
        d_key_row[i] += factor * query_row[i];
      }
    }
  }
  return gradients;
}

RetrievalScore Evaluate(const Retriever<double>& model,
                        const RetrievalBatch& batch) {
  const Tensor<double> matrix = ScoreMatrix(model);
  const int64_t count = batch.query.dim(0);
  RetrievalScore score;
  double square = 0;
  for (int64_t s = 0; s < count; ++s) {
    const std::vector<double> scores = Scores(matrix, batch, s);
    const std::vector<double> p = Softmax<double>(scores);
    const auto best = std::max_element(p.begin(), p.end());
    score.accuracy += best - p.begin() == batch.target[s] ? 1 : 0;
    score.target_weight += p[batch.target[s]];
    score.largest_weight += *best;
    for (const double error : Residual(p, batch, s)) {
      score.loss += error * error;
    }
    // -log p_j is how far s_j lies below the log-sum-exp, which the best key
    // tells: one logarithm per sequence.
    const double log_sum_exp = scores[best - p.begin()] - Log(*best);
    for (size_t j = 0; j < p.size(); ++j) {
      score.entropy += p[j] * (log_sum_exp - scores[j]);
      square += scores[j] * scores[j];
    }
  }
  const double n = static_cast<double>(count);
  score.loss /= 2 * Terms(batch);
  score.accuracy /= n;
  score.target_weight /= n;
  score.largest_weight /= n;
  score.entropy /= n;
  score.score_deviation =
      std::sqrt(square / (n * static_cast<double>(batch.token.dim(1))));
  return score;
}

std::vector<RetrievalScore> Train(const RetrievalTask& task,
                                  const TrainingOptions& options,
                                  Retriever<double>& model) {
  Updater query_updater(options, model.query_weights.size());
  Updater key_updater(options, model.key_weights.size());
  std::vector<RetrievalScore> curve;
  for (int64_t step = 0;; ++step) {
    curve.push_back(Evaluate(model, task.evaluation));
    if (step == options.steps ||
        curve.back().accuracy >= options.stop_at_accuracy) {
      return curve;
    }
    const RetrieverGradients gradients =
        RetrievalGradients(model, task.training[step % task.training.size()]);
    query_updater.Step(gradients.query_weights, model.query_weights);
    key_updater.Step(gradients.key_weights, model.key_weights);
  }
}

int64_t StepsToAccuracy(const std::vector<RetrievalScore>& curve,
                        double accuracy) {
  const auto reached = std::find_if(curve.begin(), curve.end(),
                                    [accuracy](const RetrievalScore& score) {
                                      return score.accuracy >= accuracy;
                                    });
  return reached - curve.begin();
}

}  // namespace softlookup
