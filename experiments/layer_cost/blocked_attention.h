// One head of attention with its working memory counted: whole, and in blocks.
//
// Whole, as the formula reads: all scores, [T, T], then their softmax in the
// same place, then the weighted sums. In blocks, as FlashAttention orders it
// (Dao et al. 2022): a block of queries meets one block of keys after another
// and keeps, for each query, the largest score so far, the sum of its
// exponentials and the weighted sum of the values, rescaled when the largest
// score grows. Both do the same arithmetic on every pair of positions; only
// the first ever holds T^2 numbers.
//
//   WorkingMemory memory;
//   Tensor<double> o = BlockedAttention<double>(q, k, v, /*block=*/32, memory);
//   memory.peak();                     // numbers held at once, inputs and
//                                      // output aside
//
// T is double or Traced. Scores are scaled by 1 / sqrt(d); nothing is masked.
//
// Source: the chapter, section 1, on T^2 in memory and in arithmetic.
#ifndef SOFTLOOKUP_EXPERIMENTS_LAYER_COST_BLOCKED_ATTENTION_H_
#define SOFTLOOKUP_EXPERIMENTS_LAYER_COST_BLOCKED_ATTENTION_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/tensor/tensor.h"

namespace softlookup {

// How many numbers live in its buffers, now and at most so far.
class WorkingMemory {
 public:
  int64_t live() const { return live_; }
  int64_t peak() const { return peak_; }

 private:
  template <typename T>
  friend class Buffer;
  void Add(int64_t count) {
    live_ += count;
    peak_ = std::max(peak_, live_);
  }

  int64_t live_ = 0;
  int64_t peak_ = 0;
};

// An array that reports to a WorkingMemory while it lives.
template <typename T>
class Buffer {
 public:
  Buffer(int64_t size, const T& value, WorkingMemory& memory)
      : memory_(memory), elements_(size, value) {
    memory_.Add(size);
  }
  ~Buffer() { memory_.Add(-static_cast<int64_t>(elements_.size())); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  T& operator[](int64_t i) { return elements_[i]; }

 private:
  WorkingMemory& memory_;
  std::vector<T> elements_;
};

// softmax(Q K^T / sqrt(d)) V, [T, d_v], from [T, d], [T, d] and [T, d_v].
template <typename T>
Tensor<T> WholeAttention(const Tensor<T>& queries, const Tensor<T>& keys,
                         const Tensor<T>& values, WorkingMemory& memory);

// The same by blocks of `block` >= 1 queries and keys; the last of each may be
// smaller.
template <typename T>
Tensor<T> BlockedAttention(const Tensor<T>& queries, const Tensor<T>& keys,
                           const Tensor<T>& values, int64_t block,
                           WorkingMemory& memory);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_LAYER_COST_BLOCKED_ATTENTION_H_
