#include "model/loss.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "attention/kernels/array_function.h"
#include "base/elementary.h"
#include "base/status.h"
#include "model/activations.h"
#include "model/row_reductions.h"

namespace softlookup {

template <typename T>
absl::Status CrossEntropyLoss(const Engine<T>& engine,
                              const StridedView<const T>& logits,
                              absl::Span<const int32_t> targets,
                              CrossEntropy<T>& loss) {
  const int64_t rows = logits.dim(0);
  const int64_t vocabulary = logits.dim(1);
  if (static_cast<int64_t>(targets.size()) != rows) {
    return absl::InvalidArgumentError(absl::StrCat(
        "there are ", targets.size(), " targets; allowed: ", rows));
  }
  loss.count = 0;
  for (int64_t n = 0; n < rows; ++n) {
    if (targets[n] == kIgnored) continue;
    ++loss.count;
    if (targets[n] < 0 || targets[n] >= vocabulary) {
      return absl::InvalidArgumentError(absl::StrCat(
          "target ", targets[n], " at position ", n, "; allowed: 0 to ",
          vocabulary - 1, ", or ", kIgnored, " to ignore it"));
    }
  }
  if (loss.count == 0) {
    return absl::InvalidArgumentError(
        "every target is ignored; allowed: at least one that counts");
  }
  Resize(loss.per_token, {rows});
  Resize(loss.d_logits, {rows, vocabulary});
  const T share = T{1} / static_cast<T>(loss.count);
  engine.ForRows(rows, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      const T* row = &logits(n, 0);
      const T maximum = RowMaximum(row, vocabulary);
      T* shifted = &loss.d_logits(n, 0);
      for (int64_t v = 0; v < vocabulary; ++v) shifted[v] = row[v] - maximum;
      loss.per_token[n] = targets[n] == kIgnored ? T{0} : -shifted[targets[n]];
    }
    T* const exponentials = &loss.d_logits(begin, 0);
    engine.Map(kernels::ArrayFunction::kExp, exponentials, exponentials,
               (end - begin) * vocabulary);
    for (int64_t n = begin; n < end; ++n) {
      T* row = &loss.d_logits(n, 0);
      if (targets[n] == kIgnored) {
        std::fill_n(row, vocabulary, T{0});
        continue;
      }
      const T sum = RowSum<T>(vocabulary, [row](int64_t v) { return row[v]; });
      loss.per_token[n] += Log(sum);
      const T factor = share / sum;
      for (int64_t v = 0; v < vocabulary; ++v) row[v] *= factor;
      row[targets[n]] -= share;
    }
  });
  // In order, in double: the same for any number of threads.
  double total = 0;
  for (int64_t n = 0; n < rows; ++n) total += loss.per_token[n];
  loss.mean = total / static_cast<double>(loss.count);
  return absl::OkStatus();
}

template <typename T>
absl::StatusOr<CrossEntropy<T>> CrossEntropyLoss(
    const Engine<T>& engine, const StridedView<const T>& logits,
    absl::Span<const int32_t> targets) {
  CrossEntropy<T> loss;
  SOFTLOOKUP_RETURN_IF_ERROR(CrossEntropyLoss(engine, logits, targets, loss));
  return loss;
}

template absl::Status CrossEntropyLoss(const Engine<float>&,
                                       const StridedView<const float>&,
                                       absl::Span<const int32_t>,
                                       CrossEntropy<float>&);
template absl::Status CrossEntropyLoss(const Engine<double>&,
                                       const StridedView<const double>&,
                                       absl::Span<const int32_t>,
                                       CrossEntropy<double>&);
template absl::StatusOr<CrossEntropy<float>> CrossEntropyLoss(
    const Engine<float>&, const StridedView<const float>&,
    absl::Span<const int32_t>);
template absl::StatusOr<CrossEntropy<double>> CrossEntropyLoss(
    const Engine<double>&, const StridedView<const double>&,
    absl::Span<const int32_t>);

}  // namespace softlookup
