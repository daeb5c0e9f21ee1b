#include "interpretability/head_scores.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "base/check.h"

namespace softlookup {
namespace {

// The attention to the positions `offset` after earlier copies of the query's
// token, summed, averaged over the queries that have any.
double CopiesScore(const StridedView<const float>& pattern,
                   absl::Span<const int32_t> tokens, int64_t offset) {
  const auto positions = static_cast<int64_t>(tokens.size());
  SOFTLOOKUP_CHECK(pattern.rank() == 2 && pattern.dim(0) == positions &&
                       pattern.dim(1) == positions,
                   "a pattern over the tokens");
  double total = 0;
  int64_t queries = 0;
  for (int64_t i = 0; i < positions; ++i) {
    bool copied = false;
    for (int64_t j = 0; j < i; ++j) {
      if (tokens[j] != tokens[i]) continue;
      copied = true;
      total += pattern(i, j + offset);
    }
    queries += copied ? 1 : 0;
  }
  return queries == 0 ? 0 : total / static_cast<double>(queries);
}

}  // namespace

std::vector<double> PreviousTokenByPosition(
    const StridedView<const float>& pattern) {
  std::vector<double> scores;
  for (int64_t i = 1; i < pattern.dim(0); ++i) {
    scores.push_back(pattern(i, i - 1));
  }
  return scores;
}

double PreviousTokenScore(const StridedView<const float>& pattern) {
  const std::vector<double> scores = PreviousTokenByPosition(pattern);
  if (scores.empty()) return 0;
  return std::accumulate(scores.begin(), scores.end(), 0.0) /
         static_cast<double>(scores.size());
}

double PrefixMatchingScore(const StridedView<const float>& pattern,
                           absl::Span<const int32_t> tokens) {
  return CopiesScore(pattern, tokens, 1);
}

double DuplicateTokenScore(const StridedView<const float>& pattern,
                           absl::Span<const int32_t> tokens) {
  return CopiesScore(pattern, tokens, 0);
}

double CopyingScore(const Tensor<double>& raised,
                    absl::Span<const int32_t> tokens) {
  const int64_t vocabulary = raised.dim(1);
  SOFTLOOKUP_CHECK(raised.dim(0) == static_cast<int64_t>(tokens.size()),
                   "logits for every token");
  const std::set<int32_t> sample(tokens.begin(), tokens.end());
  double total = 0;
  int64_t count = 0;
  for (int64_t t = 0; t < raised.dim(0); ++t) {
    double mean = 0;
    for (int64_t v = 0; v < vocabulary; ++v) mean += raised(t, v);
    mean /= static_cast<double>(vocabulary);
    const auto above = [&](int32_t token) {
      return std::max(0.0, raised(t, token) - mean);
    };
    double all = 0;
    for (const int32_t token : sample) all += above(token);
    if (all == 0) continue;
    total += above(tokens[t]) / all;
    ++count;
  }
  return count == 0 ? 0 : 2 * total / static_cast<double>(count) - 1;
}

double EigenvalueCopyingScore(absl::Span<const std::complex<double>> values) {
  double sum = 0;
  double moduli = 0;
  for (const std::complex<double>& value : values) {
    sum += value.real();
    // Not std::abs: hypot is the C library's, whose bits differ.
    moduli +=
        std::sqrt(value.real() * value.real() + value.imag() * value.imag());
  }
  return moduli == 0 ? 0 : sum / moduli;
}

}  // namespace softlookup
