#include "attention/textbook/padded_batch.h"

#include "base/check.h"
#include "base/tensor/strided_view.h"

namespace softlookup {

PaddedBatch::PaddedBatch(int64_t positions, int64_t short_length,
                         PaddingSide side)
    : positions_(positions), short_length_(short_length), side_(side) {
  SOFTLOOKUP_CHECK(1 <= short_length && short_length <= positions,
                   "a short sequence that fits");
  if (side == PaddingSide::kRight) {
    lengths_ = {positions, short_length};
  } else {
    starts_ = {0, positions - short_length};
  }
}

void PaddedBatch::Mask(AttentionMask& mask) const {
  mask.key_lengths = lengths_;
  mask.key_starts = starts_;
}

BooleanMask PaddedBatch::Boolean(bool causal) const {
  const std::vector<int64_t> lengths = {positions_, short_length_};
  const BooleanMask pad =
      OverHeadsAndQueries(RealPositions(lengths, positions_, side_));
  return causal ? LogicalAnd(CausalMask(positions_), pad).value() : pad;
}

Tensor<double> Alone(const Tensor<double>& tensor, const PaddedBatch& batch) {
  return Copy(tensor.view()
                  .Slice(0, PaddedBatch::kShort, PaddedBatch::kShort + 1)
                  .Slice(2, batch.begin(), batch.end()));
}

}  // namespace softlookup
