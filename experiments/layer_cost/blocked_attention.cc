#include "experiments/layer_cost/blocked_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/attention.h"
#include "attention/mask.h"
#include "attention/textbook/online_softmax.h"
#include "base/check.h"
#include "base/random/random.h"
#include "base/status.h"
#include "base/tensor/deviation.h"
#include "base/tensor/matrix.h"
#include "experiments/layer_cost/sequence_layers.h"

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
  const auto value = [&values, key](int64_t j, int64_t c) {
    return values(key.begin + j, c);
  };
  for (int64_t i = 0; i < query.size(); ++i) {
    for (int64_t j = 0; j < key.size(); ++j) {
      scores[i * key.size() + j] =
          Score(queries, query.begin + i, keys, key.begin + j);
    }
    TakeInKeys<T>(scores.Slice(i * key.size(), key.size()), value,
                  rows.maximum[i], rows.sum[i], rows.average.Slice(i * dv, dv));
  }
}

double Quotient(int64_t a, int64_t b) {
  return static_cast<double>(a) / static_cast<double>(b);
}

// block 0: the whole matrix at once.
CountedRun RunCounted(const BlockInputs& head, int64_t block) {
  Trace trace;
  WorkingMemory memory;
  const Tensor<Traced> q = TracedTensor(head.query, &trace);
  const Tensor<Traced> k = TracedTensor(head.key, &trace);
  const Tensor<Traced> v = TracedTensor(head.value, &trace);
  if (block == 0) {
    SelfAttention(q, k, v, &memory);
  } else {
    BlockedAttention(q, k, v, block, memory);
  }
  const int64_t t = head.query.dim(0);
  return {.positions = t,
          .peak_memory = memory.peak(),
          .multiplications = trace.multiplications,
          .score_multiplications = t * t * head.query.dim(1)};
}

CountedRuns RunBoth(const BlockInputPair& inputs, int64_t block) {
  const CountedRun once = RunCounted(inputs.once, block);
  const CountedRun twice = RunCounted(inputs.twice, block);
  return {.once = once,
          .twice = twice,
          .memory_growth = Quotient(twice.peak_memory, once.peak_memory),
          .arithmetic_growth =
              Quotient(twice.multiplications, once.multiplications)};
}

// Each block of queries against its own block of keys only: an operation that
// does save arithmetic, and changes the result.
int64_t WindowedMultiplications(const BlockInputs& head, int64_t block) {
  Trace trace;
  for (int64_t begin = 0; begin < head.query.dim(0); begin += block) {
    const int64_t end = std::min(begin + block, head.query.dim(0));
    const auto rows = [begin, end, &trace](const Tensor<double>& matrix) {
      return TracedTensor(Copy(matrix.view().Slice(0, begin, end)), &trace);
    };
    SelfAttention(rows(head.query), rows(head.key), rows(head.value));
  }
  return trace.multiplications;
}

BlockInputs DrawHead(int64_t positions, int64_t width, RandomStream& stream) {
  BlockInputs head;
  for (Tensor<double>* matrix : {&head.query, &head.key, &head.value}) {
    *matrix = GaussianMatrix(stream, positions, width, 1);
  }
  return head;
}

}  // namespace

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

template Tensor<double> BlockedAttention(const Tensor<double>&,
                                         const Tensor<double>&,
                                         const Tensor<double>&, int64_t,
                                         WorkingMemory&);
template Tensor<Traced> BlockedAttention(const Tensor<Traced>&,
                                         const Tensor<Traced>&,
                                         const Tensor<Traced>&, int64_t,
                                         WorkingMemory&);

BlockInputPair DrawBlockInputs(const BlockOptions& options) {
  RandomStream stream(options.seed, "blocked attention");
  BlockInputPair inputs;
  inputs.once = DrawHead(options.positions, options.width, stream);
  inputs.twice = DrawHead(2 * options.positions, options.width, stream);
  return inputs;
}

absl::StatusOr<BlockResults> MeasureBlocks(const BlockInputPair& inputs,
                                           int64_t block) {
  const BlockInputs& head = inputs.once;
  const int64_t t = head.query.dim(0);
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const AttentionOutputs<double> reference,
      ReferenceAttention(head.query, head.key, head.value,
                         CausalAlignment::kNone));
  WorkingMemory memory;
  const Tensor<double> output =
      BlockedAttention(head.query, head.key, head.value, block, memory);
  const Tensor<double> expected(output.shape(), reference.output.elements());
  const CountedRuns whole = RunBoth(inputs, 0);
  const CountedRuns blocked = RunBoth(inputs, block);
  return BlockResults{
      .width = head.query.dim(1),
      .block = block,
      .whole = whole,
      .blocked = blocked,
      .weights_deviation = reference.weights->size() - t * t,
      .deviation =
          LargestDifference(output, expected) / LargestMagnitude(head.value),
      .arithmetic_ratio =
          Quotient(blocked.once.multiplications, whole.once.multiplications),
      .windowed_arithmetic_ratio = Quotient(
          WindowedMultiplications(head, block), whole.once.multiplications)};
}

}  // namespace softlookup
