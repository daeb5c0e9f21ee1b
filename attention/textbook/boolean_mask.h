// Boolean masks as a program writes them: made from sizes, combined by
// broadcasting. True (1) = may attend.
//
//   BooleanMask causal = CausalMask(5);                       // [5, 5]
//   BooleanMask real = RealPositions({5, 3}, 5, PaddingSide::kRight);  // [2,
//   5] BooleanMask pad = real reshaped to [2, 1, 1, 5]; LogicalAnd(causal, pad)
//   // [2, 1, 5, 5]
//
// Attention itself needs none of this (attention/mask.h asks one query and key
// at a time); these are the tensors that the chapter's listing passes around.
//
// Source: the chapter, section 2, on causal and padding masks.
#ifndef SOFTLOOKUP_ATTENTION_TEXTBOOK_BOOLEAN_MASK_H_
#define SOFTLOOKUP_ATTENTION_TEXTBOOK_BOOLEAN_MASK_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/tensor/tensor.h"

namespace softlookup {

using BooleanMask = Tensor<uint8_t>;

// Where the padding of a short sequence goes.
enum class PaddingSide { kLeft, kRight };

// [T, T]: 1 where key j <= query i.
BooleanMask CausalMask(int64_t positions);

// [B, T]: 1 where a position of the padded batch holds a token. Each length is
// 0 to T.
BooleanMask RealPositions(absl::Span<const int64_t> lengths, int64_t positions,
                          PaddingSide side);

// [B, T] -> [B, 1, 1, T]: the same for every head and every query.
BooleanMask OverHeadsAndQueries(const BooleanMask& real);

// a AND b, broadcast: shapes are aligned at their last dimension, and a
// dimension that is 1 or missing repeats. InvalidArgument, with both shapes,
// when two sizes differ and neither is 1.
absl::StatusOr<BooleanMask> LogicalAnd(const BooleanMask& a,
                                       const BooleanMask& b);

// The number of entries that are 1.
int64_t CountTrue(const BooleanMask& mask);

}  // namespace softlookup

#endif  // SOFTLOOKUP_ATTENTION_TEXTBOOK_BOOLEAN_MASK_H_
