// One head of attention in blocks, against the whole matrix: the same
// arithmetic without T^2 numbers in memory.
//
// In blocks, as FlashAttention orders it (Dao et al. 2022): a block of queries
// meets one block of keys after another and keeps, for each query, what the
// online softmax does (attention/textbook/online_softmax.h). Whole is
// SelfAttention. Both do the same arithmetic on every pair of positions; only
// the second ever holds T^2 numbers.
//
//   WorkingMemory memory;
//   Tensor<double> o = BlockedAttention<double>(q, k, v, /*block=*/32, memory);
//   memory.peak();                     // numbers held at once, inputs and
//                                      // output aside
//
// Source: the chapter, section 1, on T^2 in memory and in arithmetic.
#ifndef SOFTLOOKUP_EXPERIMENTS_LAYER_COST_BLOCKED_ATTENTION_H_
#define SOFTLOOKUP_EXPERIMENTS_LAYER_COST_BLOCKED_ATTENTION_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "base/tensor/tensor.h"
#include "experiments/layer_cost/traced.h"

namespace softlookup {

// softmax(Q K^T / sqrt(d)) V, [T, d_v], from [T, d], [T, d] and [T, d_v], by
// blocks of `block` >= 1 queries and keys; the last of each may be smaller.
// T is double or Traced.
template <typename T>
Tensor<T> BlockedAttention(const Tensor<T>& queries, const Tensor<T>& keys,
                           const Tensor<T>& values, int64_t block,
                           WorkingMemory& memory);

struct BlockOptions {
  int64_t positions = 0;  // T; 2 T is run as well
  int64_t width = 0;      // d
  uint64_t seed = 1;
};

struct BlockInputs {
  Tensor<double> query;  // [T, d]
  Tensor<double> key;
  Tensor<double> value;
};

// At T, the first, and at 2 T.
struct BlockInputPair {
  BlockInputs once;
  BlockInputs twice;
};

BlockInputPair DrawBlockInputs(const BlockOptions& options);

// One run on counting numbers.
struct CountedRun {
  int64_t positions = 0;
  int64_t peak_memory = 0;  // numbers held at once
  int64_t multiplications = 0;
  int64_t score_multiplications = 0;  // T^2 d: what all pairs take
};

// The same run at T and at 2 T, and what it grows by.
struct CountedRuns {
  CountedRun once;
  CountedRun twice;
  double memory_growth = 0;      // peak at 2 T over peak at T
  double arithmetic_growth = 0;  // the same of multiplications
};

struct BlockResults {
  int64_t width = 0;
  int64_t block = 0;
  CountedRuns whole;
  CountedRuns blocked;
  int64_t weights_deviation = 0;  // elements of the reference's weights - T^2
  // Blocked output against the reference, over the largest |value|.
  double deviation = 0;
  double arithmetic_ratio = 0;  // blocked over whole multiplications at T
  // Attention to the own block only over whole: less arithmetic, another
  // result.
  double windowed_arithmetic_ratio = 0;
};

// InvalidArgument as the reference gives it.
absl::StatusOr<BlockResults> MeasureBlocks(const BlockInputPair& inputs,
                                           int64_t block);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_LAYER_COST_BLOCKED_ATTENTION_H_
