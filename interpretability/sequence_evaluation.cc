#include "interpretability/sequence_evaluation.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/check.h"
#include "base/status.h"
#include "model/loss.h"

namespace softlookup {
namespace {

// A mean that grows by one value at a time, in order.
struct RunningMean {
  double sum = 0;
  int64_t count = 0;
  void Add(double x) {
    sum += x;
    ++count;
  }
  double Get() const {
    SOFTLOOKUP_CHECK(count > 0, "a position of each kind in every sequence");
    return sum / static_cast<double>(count);
  }
};

}  // namespace

absl::StatusOr<SequenceScores> EvaluateSequences(
    const Transformer<float>& model, absl::Span<const float> weights,
    const RepeatedSequences& sequences, Hooks<float>* hooks) {
  TransformerActivations<float> memory;
  SOFTLOOKUP_RETURN_IF_ERROR(
      model.Forward(weights, sequences.tokens, memory, hooks));
  const Tensor<float>& logits = memory.logits;
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const CrossEntropy<float> loss,
      CrossEntropyLoss(model.engine(), logits.view(), sequences.targets));
  const int64_t positions = sequences.tokens.dim(1);
  const int64_t vocabulary = logits.dim(1);
  SequenceScores scores;
  for (int64_t b = 0; b < sequences.tokens.dim(0); ++b) {
    RunningMean first, repeat, correct, early, late, all;
    for (int64_t t = 0; t < positions; ++t) {
      const int64_t n = b * positions + t;
      const double at = loss.per_token[n];
      all.Add(at);
      if (t < kEdge) early.Add(at);
      if (t >= positions - kEdge) late.Add(at);
      if (!sequences.Predictable(b, t)) {
        first.Add(at);
        continue;
      }
      repeat.Add(at);
      const float* row = &logits(n, 0);
      const float* largest = std::max_element(row, row + vocabulary);
      correct.Add(largest - row == sequences.targets[n] ? 1 : 0);
    }
    scores.first_loss.push_back(first.Get());
    scores.repeat_loss.push_back(repeat.Get());
    scores.accuracy.push_back(correct.Get());
    scores.in_context.push_back(late.Get() - early.Get());
    scores.loss.push_back(all.Get());
  }
  return scores;
}

}  // namespace softlookup
