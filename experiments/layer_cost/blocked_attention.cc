#include "experiments/layer_cost/blocked_attention.h"

#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/elementary.h"
#include "experiments/layer_cost/traced.h"

namespace softlookup {
namespace {

template <typename T>
T Score(const Tensor<T>& queries, int64_t i, const Tensor<T>& keys, int64_t j) {
  T sum = T(0);
  for (int64_t c = 0; c < keys.dim(1); ++c) sum += queries(i, c) * keys(j, c);
  return sum * T(1 / std::sqrt(static_cast<double>(keys.dim(1))));
}

// Positions [begin, end).
struct Range {
  int64_t begin;
  int64_t end;
  int64_t size() const { return end - begin; }
};

Range BlockFrom(int64_t begin, int64_t block, int64_t positions) {
  return {begin, std::min(begin + block, positions)};
}

// What a block of queries carries from one block of keys to the next.
template <typename T>
struct RunningRows {
  RunningRows(int64_t rows, int64_t value_width, WorkingMemory& memory)
      : maximum(rows, T(-std::numeric_limits<double>::infinity()), memory),
        sum(rows, T(0), memory),
        average(rows * value_width, T(0), memory) {}

  Buffer<T> maximum;
  Buffer<T> sum;
  Buffer<T> average;  // times the sum, until the end
};

// Takes one more block of keys into the running rows.
template <typename T>
void Accumulate(const Tensor<T>& queries, Range query, const Tensor<T>& keys,
                const Tensor<T>& values, Range key, WorkingMemory& memory,
                RunningRows<T>& rows) {
  const int64_t dv = values.dim(1);
  Buffer<T> scores(query.size() * key.size(), T(0), memory);
  for (int64_t i = 0; i < query.size(); ++i) {
    T maximum = rows.maximum[i];
    for (int64_t j = 0; j < key.size(); ++j) {
      const T score = Score(queries, query.begin + i, keys, key.begin + j);
      scores[i * key.size() + j] = score;
      if (score > maximum) maximum = score;
    }
    const T rescale = Exp(rows.maximum[i] - maximum);
    rows.maximum[i] = maximum;
    rows.sum[i] *= rescale;
    for (int64_t c = 0; c < dv; ++c) rows.average[i * dv + c] *= rescale;
    for (int64_t j = 0; j < key.size(); ++j) {
      const T weight = Exp(scores[i * key.size() + j] - maximum);
      rows.sum[i] += weight;
      for (int64_t c = 0; c < dv; ++c) {
        rows.average[i * dv + c] += weight * values(key.begin + j, c);
      }
    }
  }
}

}  // namespace

template <typename T>
Tensor<T> WholeAttention(const Tensor<T>& queries, const Tensor<T>& keys,
                         const Tensor<T>& values, WorkingMemory& memory) {
  const int64_t positions = keys.dim(0);
  const int64_t dv = values.dim(1);
  Buffer<T> scores(queries.dim(0) * positions, T(0), memory);
  for (int64_t i = 0; i < queries.dim(0); ++i) {
    for (int64_t j = 0; j < positions; ++j) {
      scores[i * positions + j] = Score(queries, i, keys, j);
    }
  }
  for (int64_t i = 0; i < queries.dim(0); ++i) {
    T maximum = scores[i * positions];
    for (int64_t j = 1; j < positions; ++j) {
      if (scores[i * positions + j] > maximum) {
        maximum = scores[i * positions + j];
      }
    }
    T sum = T(0);
    for (int64_t j = 0; j < positions; ++j) {
      scores[i * positions + j] = Exp(scores[i * positions + j] - maximum);
      sum += scores[i * positions + j];
    }
    for (int64_t j = 0; j < positions; ++j) scores[i * positions + j] /= sum;
  }
  Tensor<T> outputs({queries.dim(0), dv});
  for (int64_t i = 0; i < queries.dim(0); ++i) {
    for (int64_t j = 0; j < positions; ++j) {
      for (int64_t c = 0; c < dv; ++c) {
        outputs(i, c) += scores[i * positions + j] * values(j, c);
      }
    }
  }
  return outputs;
}

template <typename T>
Tensor<T> BlockedAttention(const Tensor<T>& queries, const Tensor<T>& keys,
                           const Tensor<T>& values, int64_t block,
                           WorkingMemory& memory) {
  SOFTLOOKUP_CHECK(block >= 1, "at least one position per block");
  const int64_t dv = values.dim(1);
  Tensor<T> outputs({queries.dim(0), dv});
  for (int64_t i = 0; i < queries.dim(0); i += block) {
    const Range query = BlockFrom(i, block, queries.dim(0));
    RunningRows<T> rows(query.size(), dv, memory);
    for (int64_t j = 0; j < keys.dim(0); j += block) {
      Accumulate(queries, query, keys, values, BlockFrom(j, block, keys.dim(0)),
                 memory, rows);
    }
    for (int64_t r = 0; r < query.size(); ++r) {
      for (int64_t c = 0; c < dv; ++c) {
        outputs(query.begin + r, c) = rows.average[r * dv + c] / rows.sum[r];
      }
    }
  }
  return outputs;
}

#define SOFTLOOKUP_INSTANTIATE(T)                                         \
  template Tensor<T> WholeAttention(const Tensor<T>&, const Tensor<T>&,   \
                                    const Tensor<T>&, WorkingMemory&);    \
  template Tensor<T> BlockedAttention(const Tensor<T>&, const Tensor<T>&, \
                                      const Tensor<T>&, int64_t,          \
                                      WorkingMemory&)
SOFTLOOKUP_INSTANTIATE(double);
SOFTLOOKUP_INSTANTIATE(Traced);
#undef SOFTLOOKUP_INSTANTIATE

}  // namespace softlookup
