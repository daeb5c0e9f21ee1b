// Sums and maxima along rows and sums down columns, in an order that vectors of
// any width can follow. Along a row element k goes into lane k mod 16, and the
// lanes are then folded by halves (as in attention/kernels/determinism.md);
// down a column rows follow each other.
//
//   const float mean = RowSum<float>(n, [x](int64_t k) { return x[k]; }) / n;
#ifndef SOFTLOOKUP_MODEL_ROW_REDUCTIONS_H_
#define SOFTLOOKUP_MODEL_ROW_REDUCTIONS_H_

#include <algorithm>
#include <cstdint>

namespace softlookup {

inline constexpr int64_t kRowLanes = 16;

// The sum of term(k) over k < n; 0 for n = 0.
template <typename T, typename Term>
T RowSum(int64_t n, const Term& term) {
  T lanes[kRowLanes] = {};
  int64_t k = 0;
  for (; k + kRowLanes <= n; k += kRowLanes) {
    for (int64_t lane = 0; lane < kRowLanes; ++lane) {
      lanes[lane] += term(k + lane);
    }
  }
  for (; k < n; ++k) lanes[k % kRowLanes] += term(k);
  for (int64_t half = kRowLanes / 2; half > 0; half /= 2) {
    for (int64_t lane = 0; lane < half; ++lane) {
      lanes[lane] += lanes[lane + half];
    }
  }
  return lanes[0];
}

// The largest of n >= 1 elements, in any order; any of them where one is NaN.
template <typename T>
T RowMaximum(const T* x, int64_t n) {
  T lanes[kRowLanes];
  std::fill_n(lanes, kRowLanes, x[0]);
  int64_t k = 0;
  for (; k + kRowLanes <= n; k += kRowLanes) {
    for (int64_t lane = 0; lane < kRowLanes; ++lane) {
      lanes[lane] = x[k + lane] > lanes[lane] ? x[k + lane] : lanes[lane];
    }
  }
  for (; k < n; ++k) lanes[0] = x[k] > lanes[0] ? x[k] : lanes[0];
  return *std::max_element(lanes, lanes + kRowLanes);
}

// total[k] += sum over rows of term(row, k), in order of the rows, for k from
// `begin` to `end`.
template <typename T, typename Term>
void AddColumnSums(int64_t rows, int64_t begin, int64_t end, const Term& term,
                   T* total) {
  int64_t k = begin;
  for (; k + kRowLanes <= end; k += kRowLanes) {
    T sums[kRowLanes] = {};
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t lane = 0; lane < kRowLanes; ++lane) {
        sums[lane] += term(row, k + lane);
      }
    }
    for (int64_t lane = 0; lane < kRowLanes; ++lane) {
      total[k + lane] += sums[lane];
    }
  }
  for (; k < end; ++k) {
    T sum = 0;
    for (int64_t row = 0; row < rows; ++row) sum += term(row, k);
    total[k] += sum;
  }
}

}  // namespace softlookup

#endif  // SOFTLOOKUP_MODEL_ROW_REDUCTIONS_H_
