// The cross-entropy of next-token predictions.
//
//   loss_n = log sum_v exp(logits[n, v]) - logits[n, target_n]
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(
//       const CrossEntropy<float> loss,
//       CrossEntropyLoss(engine, logits.view(), targets));
//   model.Backward(weights, tokens, memory, loss.d_logits.view(), gradient);
#ifndef SOFTLOOKUP_MODEL_LOSS_H_
#define SOFTLOOKUP_MODEL_LOSS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/tensor/strided_view.h"
#include "base/tensor/tensor.h"
#include "model/engine.h"

namespace softlookup {

// A target that does not count.
inline constexpr int32_t kIgnored = -1;

template <typename T>
struct CrossEntropy {
  double mean = 0;      // over the targets that count; natural logarithm
  int64_t count = 0;    // of those
  Tensor<T> per_token;  // [N], 0 where ignored
  Tensor<T> d_logits;   // [N, V], dmean/dlogits, 0 where ignored
};

// logits [N, V] with contiguous rows, targets [N]. InvalidArgument for another
// number of targets, a target outside the vocabulary other than kIgnored, and
// targets that are all ignored. T is float or double.
template <typename T>
absl::StatusOr<CrossEntropy<T>> CrossEntropyLoss(
    const Engine<T>& engine, const StridedView<const T>& logits,
    absl::Span<const int32_t> targets);

// Into `loss`, whose memory is used again.
template <typename T>
absl::Status CrossEntropyLoss(const Engine<T>& engine,
                              const StridedView<const T>& logits,
                              absl::Span<const int32_t> targets,
                              CrossEntropy<T>& loss);

}  // namespace softlookup

#endif  // SOFTLOOKUP_MODEL_LOSS_H_
