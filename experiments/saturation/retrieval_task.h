// A small task that attention learns by gradient descent: find the partner.
//
// A sequence has n tokens, each normalised to mean square 1, and each with a
// value. Its query is the partner of one of them, the target: the target's
// entries in another order and with other signs, the same for all sequences
// (an orthogonal matrix that the model does not know). One head answers:
//
//   s_j = scale (u W_Q) . (x_j W_K)    p = softmax(s)    o = sum_j p_j v_j
//
// and is to answer with the target's value: the loss is the mean of
// (o - v_target)^2 / 2 over sequences and components. The values are given and
// only W_Q and W_K learn, so every gradient passes the softmax's Jacobian.
//
//   RetrievalTask task(sizes, /*seed=*/1);
//   Retriever<double> model =
//       InitialRetriever(sizes, scale, /*gain=*/1, /*seed=*/1);
//   std::vector<RetrievalScore> curve = Train(task, {.rate = 1}, model);
//
// Source: the chapter, section 2, on what goes wrong without the scale.
#ifndef SOFTLOOKUP_EXPERIMENTS_SATURATION_RETRIEVAL_TASK_H_
#define SOFTLOOKUP_EXPERIMENTS_SATURATION_RETRIEVAL_TASK_H_

#include <cstdint>
#include <vector>

#include "base/random/random.h"
#include "base/tensor/tensor.h"

namespace softlookup {

struct RetrievalSizes {
  int64_t keys = 16;         // n
  int64_t d_model = 16;      // d, of a token
  int64_t d_head = 128;      // d_k
  int64_t value_width = 8;   // d_v
  int64_t batch = 64;        // sequences per training step
  int64_t batches = 16;      // of the training set
  int64_t evaluation = 128;  // sequences that are never trained on
};

struct RetrievalBatch {
  Tensor<double> query;         // u, [N, d]
  Tensor<double> token;         // x, [N, n, d]
  Tensor<double> value;         // v, [N, n, d_v]
  std::vector<int64_t> target;  // [N], each 0 to n - 1
};

// What the query asks for.
enum class RetrievalTargets {
  kPartner,  // as described above
  kRandom,   // any token, whatever the query: nothing to learn
};

struct RetrievalTask {
  RetrievalTask(const RetrievalSizes& sizes, uint64_t seed,
                RetrievalTargets targets = RetrievalTargets::kPartner);

  std::vector<RetrievalBatch> training;
  RetrievalBatch evaluation;
};

template <typename T>
struct Retriever {
  double scale = 1;
  Tensor<T> query_weights;  // W_Q, [d, d_k]
  Tensor<T> key_weights;    // W_K, [d, d_k]
};

// Entries of variance gain^2 / d: with gain 1, projections that preserve the
// variance.
Retriever<double> InitialRetriever(const RetrievalSizes& sizes, double scale,
                                   double gain, uint64_t seed);

// The loss. T is double or std::complex<double>.
template <typename T>
T RetrievalLoss(const Retriever<T>& model, const RetrievalBatch& batch);

struct RetrieverGradients {
  Tensor<double> query_weights;  // [d, d_k]
  Tensor<double> key_weights;    // [d, d_k]
};

RetrieverGradients RetrievalGradients(const Retriever<double>& model,
                                      const RetrievalBatch& batch);

// How a model does on a batch: means over its sequences.
struct RetrievalScore {
  double loss = 0;
  double accuracy = 0;       // how often the best key is the target
  double target_weight = 0;  // p at the target
  double largest_weight = 0;
  double entropy = 0;          // in nats
  double score_deviation = 0;  // root mean square of all scores
};

RetrievalScore Evaluate(const Retriever<double>& model,
                        const RetrievalBatch& batch);

enum class Optimiser {
  kGradientDescent,
  kAdam,  // Kingma and Ba 2015: beta 0.9 and 0.999, epsilon 1e-8
};

struct TrainingOptions {
  Optimiser optimiser = Optimiser::kGradientDescent;
  double rate = 1;
  int64_t steps = 100;
  // Stop as soon as the accuracy is reached; above 1: never.
  double stop_at_accuracy = 2;
};

// The evaluation before each step and after the last; trains `model` in
// place. Steps take the training set's batches in order, again and again.
std::vector<RetrievalScore> Train(const RetrievalTask& task,
                                  const TrainingOptions& options,
                                  Retriever<double>& model);

// The first index at which the accuracy is reached; the number of scores if
// none does.
int64_t StepsToAccuracy(const std::vector<RetrievalScore>& curve,
                        double accuracy);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_SATURATION_RETRIEVAL_TASK_H_
