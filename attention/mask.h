// Which keys a query may attend to.
//
// Every restriction that is given must hold at once:
//   causal       top-left: j <= i; bottom-right: j <= i + Tk - Tq. Both are
//                about the tensors' sizes, whatever the key lengths.
//   allowed      boolean, 1 = may attend; rank 4, [B, H, Tq, Tk], each
//                dimension 1 or full.
//   key_lengths  [B]: key j is real when j < length (right padding).
//   key_starts   [B]: key j is real when j >= start (left padding).
// An additive bias of -inf masks as well; that rule lives with the scores.
//
//   AttentionMask mask;
//   mask.causal = CausalAlignment::kTopLeft;
//   mask.key_lengths = lengths;                 // {5, 3}
//   if (mask.Allows(b, h, i, j, sizes)) ...
//
// Source: the chapter, section 2, on causal and padding masks.
#ifndef SOFTLOOKUP_ATTENTION_MASK_H_
#define SOFTLOOKUP_ATTENTION_MASK_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/tensor/shape.h"
#include "base/tensor/strided_view.h"

namespace softlookup {

// The sizes of one attention problem; see base/tensor/shape.h for the alphabet.
struct AttentionSizes {
  int64_t batch = 0;        // B
  int64_t query_heads = 0;  // H
  int64_t key_heads = 0;    // Hkv
  int64_t queries = 0;      // Tq
  int64_t keys = 0;         // Tk
  int64_t width = 0;        // D
  int64_t value_width = 0;  // Dv

  // The key/value head that query head h reads: h / (H / Hkv).
  int64_t KeyHead(int64_t h) const { return h / (query_heads / key_heads); }
  // [B, H, Tq, Tk].
  Shape ScoreShape() const { return {batch, query_heads, queries, keys}; }
};

// Where the causal diagonal starts when Tq != Tk.
enum class CausalAlignment { kNone, kTopLeft, kBottomRight };

// "none", "top_left", "bottom_right".
absl::StatusOr<CausalAlignment> ParseCausalAlignment(const std::string& text);
std::string CausalAlignmentName(CausalAlignment alignment);

// Element (b, h, i, j) of a mask or bias, [B, H, Tq, Tk], each dimension 1 or
// full.
template <typename T>
const T& BroadcastElement(const StridedView<const T>& view, int64_t b,
                          int64_t h, int64_t i, int64_t j) {
  const auto index = [&view](int axis, int64_t position) {
    return view.dim(axis) == 1 ? 0 : position;
  };
  return view(index(0, b), index(1, h), index(2, i), index(3, j));
}

struct AttentionMask {
  CausalAlignment causal = CausalAlignment::kNone;
  std::optional<StridedView<const uint8_t>> allowed;
  absl::Span<const int64_t> key_lengths;  // empty: every key is real
  absl::Span<const int64_t> key_starts;   // empty: 0

  // InvalidArgument, naming the argument, what was given and what is allowed:
  // a mask whose shape does not broadcast to [B, H, Tq, Tk], spans that are
  // not of length B, entries outside 0 to Tk.
  absl::Status Check(const AttentionSizes& sizes) const;

  // Whether query i of head h may attend to key j in batch entry b. The mask
  // must have passed Check for these sizes.
  bool Allows(int64_t b, int64_t h, int64_t i, int64_t j,
              const AttentionSizes& sizes) const;
};

}  // namespace softlookup

#endif  // SOFTLOOKUP_ATTENTION_MASK_H_
