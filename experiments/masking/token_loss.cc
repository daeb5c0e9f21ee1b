#include "experiments/masking/token_loss.h"

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "attention/softmax.h"
#include "base/check.h"

namespace softlookup {

absl::StatusOr<TokenLoss> CrossEntropy(const Tensor<double>& logits,
                                       absl::Span<const int64_t> targets,
                                       int64_t ignore_index) {
  SOFTLOOKUP_CHECK(logits.shape().size() == 2 &&
                       logits.dim(0) == static_cast<int64_t>(targets.size()),
                   "one target per row of logits");
  const int64_t vocabulary = logits.dim(1);
  TokenLoss loss = {.mean = 0,
                    .counted = 0,
                    .losses = std::vector<double>(targets.size(), 0),
                    .logits_gradient = Tensor<double>(logits.shape())};
  for (size_t n = 0; n < targets.size(); ++n) {
    if (targets[n] == ignore_index) continue;
    if (targets[n] < 0 || targets[n] >= vocabulary) {
      return absl::InvalidArgumentError(
          absl::StrCat("targets[", n, "] is ", targets[n], "; allowed: 0 to ",
                       vocabulary - 1, " or ", ignore_index));
    }
    ++loss.counted;
    const absl::Span<const double> row(logits.data() + n * vocabulary,
                                       static_cast<size_t>(vocabulary));
    loss.losses[n] = LogSumExp<double>(row) - row[targets[n]];
    loss.mean += loss.losses[n];
    const std::vector<double> p = Softmax<double>(row);
    for (int64_t c = 0; c < vocabulary; ++c) {
      loss.logits_gradient(n, c) = p[c] - (c == targets[n] ? 1 : 0);
    }
  }
  if (loss.counted == 0) {
    return absl::InvalidArgumentError(
        "every target is ignored; allowed: at least one that counts");
  }
  const double count = static_cast<double>(loss.counted);
  loss.mean /= count;
  for (double& gradient : loss.logits_gradient.elements()) gradient /= count;
  return loss;
}

}  // namespace softlookup
