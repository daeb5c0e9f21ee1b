#include "attention/mask.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/named_values.h"
#include "base/status.h"

namespace softlookup {
namespace {

const NamedValues<CausalAlignment>& CausalAlignments() {
  static const auto& names = *new NamedValues<CausalAlignment>{
      {CausalAlignment::kNone, "none"},
      {CausalAlignment::kTopLeft, "top_left"},
      {CausalAlignment::kBottomRight, "bottom_right"}};
  return names;
}

// One entry per batch element, each a position from 0 to Tk.
absl::Status CheckPositions(absl::string_view name,
                            absl::Span<const int64_t> positions,
                            const AttentionSizes& sizes) {
  if (positions.empty()) return absl::OkStatus();
  if (static_cast<int64_t>(positions.size()) != sizes.batch) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " has ", positions.size(),
        " entries; allowed: one per batch element, B = ", sizes.batch));
  }
  for (size_t b = 0; b < positions.size(); ++b) {
    if (positions[b] < 0 || positions[b] > sizes.keys) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, "[", b, "] is ", positions[b],
                       "; allowed: 0 to Tk = ", sizes.keys));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CausalAlignment> ParseCausalAlignment(const std::string& text) {
  return ParseName(CausalAlignments(), "causal", text);
}

std::string CausalAlignmentName(CausalAlignment alignment) {
  return NameOf(CausalAlignments(), alignment);
}

absl::Status AttentionMask::Check(const AttentionSizes& sizes) const {
  if (allowed.has_value() &&
      !allowed->layout().BroadcastTo(sizes.ScoreShape()).ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "mask has shape ", ShapeString(allowed->shape()),
        "; allowed: rank 4, each dimension 1 or that of [B, H, Tq, Tk] = ",
        ShapeString(sizes.ScoreShape())));
  }
  SOFTLOOKUP_RETURN_IF_ERROR(CheckPositions("key_lengths", key_lengths, sizes));
  return CheckPositions("key_starts", key_starts, sizes);
}

bool AttentionMask::Allows(int64_t b, int64_t h, int64_t i, int64_t j,
                           const AttentionSizes& sizes) const {
  if (causal == CausalAlignment::kTopLeft && j > i) return false;
  if (causal == CausalAlignment::kBottomRight &&
      j > i + sizes.keys - sizes.queries) {
    return false;
  }
  if (!key_lengths.empty() && j >= key_lengths[b]) return false;
  if (!key_starts.empty() && j < key_starts[b]) return false;
  return !allowed.has_value() || BroadcastElement(*allowed, b, h, i, j) != 0;
}

}  // namespace softlookup
