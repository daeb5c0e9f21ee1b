#include "attention/cost.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status.h"

namespace softlookup {
namespace {

// A count that remembers whether it, or what it came from, overflowed.
class Count {
 public:
  Count(int64_t value) : value_(value) {}  // NOLINT: a number is a count

  friend Count operator*(Count a, Count b) {
    Count product(0);
    product.overflow_ =
        __builtin_mul_overflow(a.value_, b.value_, &product.value_) ||
        a.overflow_ || b.overflow_;
    return product;
  }

  // Stores the value, and adds to `overflow` whether it is wrong.
  void Store(int64_t& value, bool& overflow) const {
    value = value_;
    overflow = overflow || overflow_;
  }

 private:
  int64_t value_;
  bool overflow_ = false;
};

absl::Status CheckSize(absl::string_view name, int64_t size, int64_t least) {
  if (size >= least) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is ", size, "; allowed: at least ", least));
}

absl::Status CheckLayer(LayerKind kind, const LayerShape& shape) {
  SOFTLOOKUP_RETURN_IF_ERROR(CheckSize("positions", shape.positions, 1));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckSize("width", shape.width, 1));
  if (kind != LayerKind::kConvolution) return absl::OkStatus();
  return CheckSize("kernel", shape.kernel, 1);
}

absl::Status Overflow(int64_t positions, int64_t width) {
  return absl::OutOfRangeError(
      absl::StrCat("positions is ", positions, " and width ", width,
                   "; allowed: sizes whose counts fit in 64 bits"));
}

}  // namespace

absl::StatusOr<LayerCost> CountLayer(LayerKind kind, const LayerShape& shape) {
  SOFTLOOKUP_RETURN_IF_ERROR(CheckLayer(kind, shape));
  const Count t = shape.positions;
  const Count d = shape.width;
  const Count k = shape.kernel;
  LayerCost cost;
  bool overflow = false;
  switch (kind) {
    case LayerKind::kRecurrent:
      (t * d * d).Store(cost.table_operations, overflow);
      t.Store(cost.sequential_steps, overflow);
      (2 * d * d).Store(cost.parameters, overflow);
      (2 * t * d * d).Store(cost.mixing_flops, overflow);
      (2 * t * d * d).Store(cost.projection_flops, overflow);
      break;
    case LayerKind::kSelfAttention:
      (t * t * d).Store(cost.table_operations, overflow);
      cost.sequential_steps = 1;
      (4 * d * d).Store(cost.parameters, overflow);
      (4 * t * t * d).Store(cost.mixing_flops, overflow);
      (8 * t * d * d).Store(cost.projection_flops, overflow);
      break;
    case LayerKind::kConvolution:
      (k * t * d * d).Store(cost.table_operations, overflow);
      cost.sequential_steps = 1;
      (k * d * d).Store(cost.parameters, overflow);
      (2 * k * t * d * d).Store(cost.mixing_flops, overflow);
      break;
  }
  if (overflow) return Overflow(shape.positions, shape.width);
  return cost;
}

double AttentionToRecurrentRatio(int64_t positions, int64_t width) {
  return static_cast<double>(positions) / static_cast<double>(width);
}

absl::StatusOr<PathLength> MaximumPathLength(LayerKind kind,
                                             const LayerShape& shape) {
  SOFTLOOKUP_RETURN_IF_ERROR(CheckLayer(kind, shape));
  const int64_t distance = shape.positions - 1;
  PathLength length;
  switch (kind) {
    case LayerKind::kRecurrent:
      length.contiguous = length.dilated = distance;
      break;
    case LayerKind::kSelfAttention:
      length.contiguous = length.dilated = 1;
      break;
    case LayerKind::kConvolution:
      SOFTLOOKUP_RETURN_IF_ERROR(CheckSize("kernel", shape.kernel, 2));
      length.contiguous =
          distance / (shape.kernel - 1) + (distance % (shape.kernel - 1) != 0);
      // After l layers an output sees k^l positions. Dividing instead of
      // multiplying cannot overflow: ceil(ceil(T / k) / k) = ceil(T / k^2).
      for (int64_t blocks = shape.positions; blocks > 1; ++length.dilated) {
        blocks = blocks / shape.kernel + (blocks % shape.kernel != 0);
      }
      break;
  }
  return length;
}

absl::StatusOr<TokenCost> CountToken(LayerKind kind, const LayerShape& shape) {
  SOFTLOOKUP_RETURN_IF_ERROR(CheckLayer(kind, shape));
  const Count t = shape.positions;
  const Count d = shape.width;
  const Count k = shape.kernel;
  TokenCost cost;
  bool overflow = false;
  switch (kind) {
    case LayerKind::kRecurrent:
      (2 * d * d).Store(cost.mixing_flops, overflow);
      (2 * d * d).Store(cost.projection_flops, overflow);
      d.Store(cost.memory, overflow);
      break;
    case LayerKind::kSelfAttention:
      (4 * t * d).Store(cost.mixing_flops, overflow);
      (8 * d * d).Store(cost.projection_flops, overflow);
      (2 * t * d).Store(cost.memory, overflow);
      break;
    case LayerKind::kConvolution:
      (2 * k * d * d).Store(cost.mixing_flops, overflow);
      (Count(shape.kernel - 1) * d).Store(cost.memory, overflow);
      break;
  }
  if (overflow) return Overflow(shape.positions, shape.width);
  return cost;
}

absl::StatusOr<MultiHeadCost> CountMultiHead(const MultiHeadShape& shape) {
  SOFTLOOKUP_RETURN_IF_ERROR(CheckSize("positions", shape.positions, 1));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckSize("width", shape.width, 1));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckSize("heads", shape.heads, 1));
  if (shape.width % shape.heads != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("heads is ", shape.heads,
                     "; allowed: a divisor of the width ", shape.width));
  }
  const Count t = shape.positions;
  const Count d = shape.width;
  const Count h = shape.heads;
  const int64_t head_width = shape.width / shape.heads;
  const Count d_k = head_width;
  // Of two neighbours one is even: n (n + 1) / 2 by halving that one.
  const auto triangle = [](int64_t n) {
    return n % 2 == 0 ? Count(n / 2) * (n + 1) : Count(n) * (n / 2 + 1);
  };
  MultiHeadCost cost;
  bool overflow = false;
  cost.head_width = head_width;
  (4 * d * h * d_k).Store(cost.parameters, overflow);
  (d * h * d_k).Store(cost.projection_multiply_adds, overflow);
  (2 * d * h * d_k).Store(cost.projection_flops, overflow);
  (4 * 2 * d * h * d_k).Store(cost.four_projection_flops, overflow);
  (h * t * t * d_k).Store(cost.score_multiply_adds, overflow);
  (t * t).Store(cost.score_elements, overflow);
  triangle(shape.positions - 1).Store(cost.masked_elements, overflow);
  (2 * t * h * d_k).Store(cost.score_flops, overflow);
  (2 * t * h * d_k).Store(cost.value_flops, overflow);
  (4 * triangle(shape.positions) * h * d_k)
      .Store(cost.causal_mixing_flops, overflow);
  (4 * t * t * h * d_k).Store(cost.full_mixing_flops, overflow);
  if (overflow) return Overflow(shape.positions, shape.width);
  return cost;
}

}  // namespace softlookup
