// A batch of two sequences, of which the second is short and padded.
//
//   const PaddedBatch batch(/*positions=*/5, /*short_length=*/3,
//                           PaddingSide::kLeft);
//   batch.Mask(inputs.mask);                   // key_starts {0, 2}
//   batch.Boolean(/*causal=*/true)             // [2, 1, 5, 5]
//   Alone(output, batch)                       // [1, H, 3, D]
//
// Source: the chapter, section 2, on the padding mask.
#ifndef SOFTLOOKUP_ATTENTION_TEXTBOOK_PADDED_BATCH_H_
#define SOFTLOOKUP_ATTENTION_TEXTBOOK_PADDED_BATCH_H_

#include <cstdint>
#include <vector>

#include "attention/mask.h"
#include "attention/textbook/boolean_mask.h"
#include "base/tensor/tensor.h"

namespace softlookup {

class PaddedBatch {
 public:
  // The batch entry that is padded.
  static constexpr int64_t kShort = 1;

  // 1 <= short_length <= positions.
  PaddedBatch(int64_t positions, int64_t short_length, PaddingSide side);

  int64_t positions() const { return positions_; }
  int64_t short_length() const { return short_length_; }
  // The tokens of the short sequence are [begin, end).
  int64_t begin() const {
    return side_ == PaddingSide::kRight ? 0 : positions_ - short_length_;
  }
  int64_t end() const { return begin() + short_length_; }
  // Whether the short sequence has a token at `position`, not a pad.
  bool Real(int64_t position) const {
    return begin() <= position && position < end();
  }

  // Sets the mask's key lengths or starts, which point into this object.
  void Mask(AttentionMask& mask) const;

  // [2, 1, 1, T], or with the causal mask [2, 1, T, T].
  BooleanMask Boolean(bool causal) const;

 private:
  int64_t positions_;
  int64_t short_length_;
  PaddingSide side_;
  std::vector<int64_t> lengths_, starts_;
};

// The short sequence's tokens out of [2, H, T, D]: [1, H, short_length, D].
Tensor<double> Alone(const Tensor<double>& tensor, const PaddedBatch& batch);

}  // namespace softlookup

#endif  // SOFTLOOKUP_ATTENTION_TEXTBOOK_PADDED_BATCH_H_
