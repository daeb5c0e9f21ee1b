// The next-token loss, with positions that do not count.
//
//   TokenLoss loss =
//       CrossEntropy(logits, {7, 2, kIgnoreIndex}, kIgnoreIndex).value();
//   loss.mean      // over the two positions that count
//
// Source: the chapter, section 2, on keeping pad queries out of the loss. The
// textbook's double, log-sum-exp less the target's logit and softmax less one,
// with PyTorch's -100 to ignore: results hold its bits. model/loss.h, which
// trains, has float32's order of sums and folds the mean into the softmax, so
// that its double differs in the last digits.
#ifndef SOFTLOOKUP_EXPERIMENTS_MASKING_TOKEN_LOSS_H_
#define SOFTLOOKUP_EXPERIMENTS_MASKING_TOKEN_LOSS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/tensor/tensor.h"

namespace softlookup {

inline constexpr int64_t kIgnoreIndex = -100;

struct TokenLoss {
  double mean;                     // over the positions that count, nats
  int64_t counted;                 // how many those are
  std::vector<double> losses;      // [N]; 0 where ignored
  Tensor<double> logits_gradient;  // d(mean)/d(logits), [N, V]
};

// -log softmax(logits)[target], for logits [N, V] and N targets, each 0 to
// V - 1 or `ignore_index`. InvalidArgument for another target, naming it, and
// when every position is ignored.
absl::StatusOr<TokenLoss> CrossEntropy(const Tensor<double>& logits,
                                       absl::Span<const int64_t> targets,
                                       int64_t ignore_index);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_MASKING_TOKEN_LOSS_H_
