// Attention backward for one range of keys of one head.
//
// The forward's scores are computed again, tile by tile, and the weights from
// the stored log-sum-exp (Dao et al. 2022), so that nothing of size Tq x Tk is
// kept:
//
//   forward                          backward
//   S^T = K Q^T scale                P^T = exp(S^T - L)
//   O   = P V                        dV += P^T dO,   dP^T = V dO^T
//   P   = softmax(S)                 dS^T = P^T (dP^T - delta)
//   S   = Q K^T scale                dQ^T += K^T dS^T scale, dK += dS^T Q scale
//
// with delta_i = O_i . dO_i. Lanes run along the queries where a row is
// exponentiated and for dQ, along the width for dK and dV.
//
// Fixed order (see determinism.md): dK and dV are one fused chain over the
// queries of a tile, added up over the tiles of each head of the group in turn;
// dQ is one fused chain over the keys of a segment (as in the forward pass),
// added up over the segments of the range.
#ifndef SOFTLOOKUP_ATTENTION_KERNELS_BACKWARD_KERNEL_H_
#define SOFTLOOKUP_ATTENTION_KERNELS_BACKWARD_KERNEL_H_

#include <cstdint>

#include "attention/kernels/always_inline.h"
#include "attention/kernels/exp2.h"
#include "attention/kernels/forward_kernel.h"
#include "attention/kernels/masked_head.h"
#include "attention/kernels/tile_memory.h"
#include "attention/kernels/tile_product.h"

namespace softlookup::kernels {

// Keys whose dK and dV are held in scratch at a time.
inline constexpr int kKeyBlock = 256;

// What one task of the backward pass needs besides its inputs: O(tile).
struct alignas(64) BackwardScratch {
  float query_lanes[kMaxWidth * kQueryTile];   // Q^T, scaled
  float output_lanes[kMaxWidth * kQueryTile];  // dO^T
  float query_rows[kQueryTile * kMaxWidth];    // Q
  float output_rows[kQueryTile * kMaxWidth];   // dO
  float d_query[kMaxWidth * kQueryTile];       // dQ^T / scale
  float weights[kKeyTile * kQueryTile];        // S^T, then P^T
  float d_scores[kKeyTile * kQueryTile];       // dP^T, then dS^T
  float maximum[kQueryTile];
  float log_sum[kQueryTile];
  float delta[kQueryTile];
  float d_key[kKeyBlock * kMaxWidth];
  float d_value[kKeyBlock * kMaxWidth];
};

// One head's part of the backward pass.
struct BackwardTarget {
  const float* output_gradient;  // [Tq, Dv]
  int64_t output_gradient_stride;
  const float* output;  // [Tq, Dv]
  int64_t output_stride;
  const float*
      maximum;  // [Tq], with log_sum: see RowOffsets in attention_backward.cc
  const float* log_sum;  // [Tq]
  // [Tq, D], written: what the keys of the range add to dQ, times
  // d_query_scale.
  float* d_query;
  int64_t d_query_stride;
  float d_query_scale;
  // Added to where not null; element (i, j) of the bias at these strides.
  float* d_bias;
  int64_t d_bias_row_stride;
  int64_t d_bias_column_stride;
};

// One key head and the query heads that read it.
struct BackwardGroup {
  const HeadProblem* heads;       // [count]; they share key, value and widths
  const BackwardTarget* targets;  // [count]
  int64_t count;
  float* d_key;  // [Tk, D]
  int64_t d_key_stride;
  float* d_value;  // [Tk, Dv]
  int64_t d_value_stride;
};

// The lanes that hold `width` columns.
SOFTLOOKUP_INLINE int64_t PaddedWidth(int64_t width) {
  return (width + kLaneGroup - 1) / kLaneGroup * kLaneGroup;
}

template <typename Simd>
class BackwardKernel {
 public:
  explicit BackwardKernel(BackwardScratch& scratch) : scratch_(scratch) {}

  // The gradients of keys [begin, end): dK and dV, and their share of dQ of
  // every head of the group; 0 where there are no keys.
  void Run(const BackwardGroup& group, int64_t begin, int64_t end) {
    range_begin_ = begin;
    range_end_ = end;
    begin_ = begin;
    // Without keys too: one empty block writes dQ = 0.
    do {
      end_ = Smaller(end, begin_ + kKeyBlock);
      const HeadProblem& head = group.heads[0];
      Clear(scratch_.d_key, (end_ - begin_) * PaddedWidth(head.width));
      Clear(scratch_.d_value, (end_ - begin_) * PaddedWidth(head.value_width));
      for (int64_t h = 0; h < group.count; ++h) {
        AddHead(group.heads[h], group.targets[h]);
      }
      StoreRows(scratch_.d_key, head.width, head.scale,
                group.d_key + begin_ * group.d_key_stride, group.d_key_stride);
      StoreRows(scratch_.d_value, head.value_width, 1.0f,
                group.d_value + begin_ * group.d_value_stride,
                group.d_value_stride);
      begin_ = end_;
    } while (begin_ < end);
  }

 private:
  using Float = typename Simd::Float;

  // Adds one head of the group: its dQ, and its share of dK and dV.
  void AddHead(const HeadProblem& head, const BackwardTarget& target) {
    head_ = &head;
    target_ = &target;
    for (int64_t first = 0; first < head.queries; first += kQueryTile) {
      first_ = first;
      rows_ = static_cast<int>(Smaller(kQueryTile, head.queries - first));
      lanes_ = (rows_ + kLaneGroup - 1) / kLaneGroup * kLaneGroup;
      // What the tile sees of the range, and of this block.
      const int64_t seen0 = Larger(range_begin_, head.key_begin);
      const int64_t seen1 =
          Smaller(range_end_, KeyEnd(head, first + rows_ - 1));
      const int64_t key0 = Larger(begin_, seen0);
      const int64_t key1 = Smaller(end_, seen1);
      if (key0 < key1) {
        QueryTile(key0, key1, key0 == seen0, key1 == seen1);
      } else if (seen0 >= seen1 && begin_ == range_begin_) {
        ClearQueries();
      }
    }
  }

  // dQ = 0 of the tile's queries.
  void ClearQueries() {
    for (int64_t i = first_; i < first_ + rows_; ++i) {
      float* row = target_->d_query + i * target_->d_query_stride;
      for (int64_t k = 0; k < head_->width; k += Simd::kLanes) {
        Simd::StoreFirst(
            row + k, Simd::Zero(),
            static_cast<int>(Smaller(Simd::kLanes, head_->width - k)));
      }
    }
  }

  static void Clear(float* data, int64_t count) {
    for (int64_t i = 0; i < count; i += Simd::kLanes) {
      Simd::Store(data + i, Simd::Zero());
    }
  }

  void StoreRows(const float* rows, int64_t width, float scale, float* target,
                 int64_t stride) const {
    for (int64_t key = 0; key < end_ - begin_; ++key) {
      for (int64_t k = 0; k < width; k += Simd::kLanes) {
        Simd::StoreFirst(
            target + key * stride + k,
            Simd::Mul(Simd::Load(rows + key * PaddedWidth(width) + k),
                      Simd::Set(scale)),
            static_cast<int>(Smaller(Simd::kLanes, width - k)));
      }
    }
  }

  // rows[lane][k] = source[lane][k], columns up to PaddedWidth zero. Returns
  // whether all are finite (see AllFinite).
  bool LoadRows(const float* source, int64_t stride, int64_t width,
                float* rows) const {
    const int64_t padded = PaddedWidth(width);
    Float sum = Simd::Zero();
    for (int lane = 0; lane < rows_; ++lane) {
      for (int64_t k = 0; k < padded; k += Simd::kLanes) {
        const int count =
            static_cast<int>(Larger(Smaller(Simd::kLanes, width - k), 0));
        const Float row = Simd::LoadFirst(source + lane * stride + k, count);
        sum = Simd::Fma(row, Simd::Zero(), sum);
        Simd::Store(rows + lane * padded + k, row);
      }
    }
    return !Simd::Any(Simd::IsNan(sum));
  }

  // delta_i = O_i . dO_i: lanes along the queries, one fused chain over the
  // width each. It is so cheap that every visit of a tile computes it anew.
  void ComputeDelta() {
    constexpr int kLanes = Simd::kLanes;
    const int64_t width = head_->value_width;
    for (int lane = 0; lane < lanes_; lane += kLanes) {
      const float* rows =
          target_->output + (first_ + lane) * target_->output_stride;
      Float sum = Simd::Zero();
      for (int64_t k = 0; k < width; k += kLanes) {
        const int columns = static_cast<int>(Smaller(kLanes, width - k));
        Float block[kLanes];
        LoadBlock<Simd>(rows + k, target_->output_stride, rows_ - lane, columns,
                        block);
#pragma GCC unroll 16
        for (int c = 0; c < kLanes; ++c) {
          if (c < columns) {
            sum = Simd::Fma(
                block[c],
                Simd::Load(scratch_.output_lanes + (k + c) * kQueryTile + lane),
                sum);
          }
        }
      }
      Simd::Store(scratch_.delta + lane, sum);
    }
  }

  // Queries [first_, first_ + rows_) against keys [key0, key1): the first keys
  // of the range that they see, the last, or neither.
  void QueryTile(int64_t key0, int64_t key1, bool fresh, bool last) {
    const HeadProblem& head = *head_;
    const float* query = head.query + first_ * head.query_stride;
    const float* d_output =
        target_->output_gradient + first_ * target_->output_gradient_stride;
    LoadTransposed<Simd>(query, head.query_stride, rows_, lanes_, head.width,
                         QueryScale(head), scratch_.query_lanes);
    LoadTransposed<Simd>(d_output, target_->output_gradient_stride, rows_,
                         lanes_, head.value_width, 1.0f, scratch_.output_lanes);
    ComputeDelta();
    const bool query_finite =
        LoadRows(query, head.query_stride, head.width, scratch_.query_rows);
    const bool output_finite =
        LoadRows(d_output, target_->output_gradient_stride, head.value_width,
                 scratch_.output_rows);
    query_tile_finite_ = query_finite && output_finite;
    float* d_query = target_->d_query + first_ * target_->d_query_stride;
    if (fresh) {
      Clear(scratch_.d_query, head.width * kQueryTile);
    } else {
      LoadTransposed<Simd>(d_query, target_->d_query_stride, rows_, lanes_,
                           head.width, 1.0f, scratch_.d_query);
    }
    for (int lane = 0; lane < lanes_; lane += Simd::kLanes) {
      const int used =
          static_cast<int>(Larger(Smaller(rows_ - lane, Simd::kLanes), 0));
      // Nothing is above a maximum of +inf: lanes beyond the last query have
      // weights of 0.
      Simd::Store(
          scratch_.maximum + lane,
          Simd::SelectFirst(
              used, Simd::LoadFirst(target_->maximum + first_ + lane, used),
              Simd::Set(__builtin_inff())));
      Simd::Store(scratch_.log_sum + lane,
                  Simd::LoadFirst(target_->log_sum + first_ + lane, used));
    }
    // The next tile's rows, on their way while this one is at work.
    const int64_t ahead =
        Smaller(head.queries - first_ - rows_, int64_t{kQueryTile});
    PrefetchRows(query + rows_ * head.query_stride, head.query_stride, ahead,
                 head.width);
    PrefetchRows(d_output + rows_ * target_->output_gradient_stride,
                 target_->output_gradient_stride, ahead, head.value_width);
    PrefetchRows(target_->output + (first_ + rows_) * target_->output_stride,
                 target_->output_stride, ahead, head.value_width);
    for (int64_t j = key0; j < key1;) {
      const int64_t stop = Smaller(key1, (j / kKeyTile + 1) * kKeyTile);
      KeyTile(j, static_cast<int>(stop - j));
      j = stop;
    }
    float scale[kQueryTile];
    for (float& factor : scale) factor = last ? target_->d_query_scale : 1;
    StoreTransposed<Simd>(scratch_.d_query, rows_, head.width, scale, d_query,
                          target_->d_query_stride);
  }

  void KeyTile(int64_t j, int n) {
    // Cut as in the forward pass: keys [key0, key1) are seen by the lane
    // groups from `lane` on.
    int key0 = 0;
    for (int lane = 0; lane < lanes_ && key0 < n; lane += kLaneGroup) {
      const int key1 = GroupKeys(*head_, first_ + lane, j, n);
      if (key1 > key0) {
        Segment(j + key0, key1 - key0, lane);
        key0 = key1;
      }
    }
  }

  // Keys [j, j + n) and the lanes from `lane` on.
  void Segment(int64_t j, int n, int lane) {
    const HeadProblem& head = *head_;
    const int lanes = lanes_ - lane;
    const float* key = head.key + j * head.key_stride;
    const float* value = head.value + j * head.value_stride;
    // S^T = K Q^T scale, dP^T = V dO^T
    TileProduct<Simd, false>(
        n, {key, head.key_stride, 1}, scratch_.query_lanes + lane, kQueryTile,
        scratch_.weights + lane, kQueryTile, lanes, head.width);
    TileProduct<Simd, false>(n, {value, head.value_stride, 1},
                             scratch_.output_lanes + lane, kQueryTile,
                             scratch_.d_scores + lane, kQueryTile, lanes,
                             head.value_width);
    if (head.bias != nullptr) AddBias(j, n, lane);
    if (head.bias == nullptr) {
      Weigh<false>(n, lane);
    } else {
      Weigh<true>(n, lane);
    }
    const bool masked = ClearMasked(j, n, lane);
    if (target_->d_bias != nullptr) AddBiasGradient(j, n, lane);
    if (masked && !Finite(j, n)) {
      CarefulProducts(j, n, lane);
      return;
    }
    const int depth = rows_ - lane;
    const int64_t width = PaddedWidth(head.width);
    const int64_t value_width = PaddedWidth(head.value_width);
    // dV += P^T dO, dK += dS^T Q
    TileProduct<Simd, true>(n, {scratch_.weights + lane, kQueryTile, 1},
                            scratch_.output_rows + lane * value_width,
                            value_width,
                            scratch_.d_value + (j - begin_) * value_width,
                            value_width, value_width, depth);
    TileProduct<Simd, true>(n, {scratch_.d_scores + lane, kQueryTile, 1},
                            scratch_.query_rows + lane * width, width,
                            scratch_.d_key + (j - begin_) * width, width, width,
                            depth);
    // dQ^T += K^T dS^T
    TileProduct<Simd, true>(head.width, {key, 1, head.key_stride},
                            scratch_.d_scores + lane, kQueryTile,
                            scratch_.d_query + lane, kQueryTile, lanes, n);
  }

  // P = exp(S - L), dS = P (dP - delta). Rounding may leave S above L, by much
  // where both are large; no weight is above 1.
  template <bool kBias>
  SOFTLOOKUP_INLINE void Weigh(int n, int lane) {
    for (int at = lane; at < lanes_; at += Simd::kLanes) {
      const Float maximum = Simd::Load(scratch_.maximum + at);
      const Float log_sum = Simd::Load(scratch_.log_sum + at);
      const Float delta = Simd::Load(scratch_.delta + at);
      for (int row = 0; row < n; ++row) {
        float* weight = scratch_.weights + row * kQueryTile + at;
        float* d_score = scratch_.d_scores + row * kQueryTile + at;
        const Float exponent = Simd::Sub(
            Simd::Min(Simd::Zero(), Simd::Sub(Simd::Load(weight), maximum)),
            log_sum);
        const Float p = Exponential<Simd, kBias>(exponent);
        Simd::Store(weight, p);
        Simd::Store(d_score,
                    Simd::Mul(p, Simd::Sub(Simd::Load(d_score), delta)));
      }
    }
  }

  void AddBias(int64_t j, int n, int lane) {
    for (int row = 0; row < n; ++row) {
      for (int at = lane; at < rows_; ++at) {
        float& score = scratch_.weights[row * kQueryTile + at];
        score += head_->bias[(first_ + at) * head_->bias_row_stride +
                             (j + row) * head_->bias_column_stride];
      }
    }
  }

  // Sets P and dS of masked pairs to exactly 0; returns whether there are any.
  bool ClearMasked(int64_t j, int n, int lane) {
    const bool general = head_->allowed != nullptr || head_->bias != nullptr;
    const bool diagonal =
        head_->causal && KeyEnd(*head_, first_ + lane) < j + n;
    if (!general && !diagonal) return false;
    if (!general) {
      for (int row = 0; row < n; ++row) {
        // The first queries of the first lane group are blind to the key.
        const int64_t sees = j + row - head_->causal_offset - first_;
        const int end = static_cast<int>(Smaller(sees, rows_));
        for (int at = lane; at < end; at += Simd::kLanes) {
          const int count = static_cast<int>(Smaller(end - at, Simd::kLanes));
          ClearFirst(count, scratch_.weights + row * kQueryTile + at);
          ClearFirst(count, scratch_.d_scores + row * kQueryTile + at);
        }
      }
      return true;
    }
    bool masked = false;
    for (int row = 0; row < n; ++row) {
      for (int at = lane; at < rows_; ++at) {
        if (Visible(*head_, first_ + at, j + row)) continue;
        scratch_.weights[row * kQueryTile + at] = 0;
        scratch_.d_scores[row * kQueryTile + at] = 0;
        masked = true;
      }
    }
    return masked;
  }

  SOFTLOOKUP_INLINE static void ClearFirst(int count, float* lanes) {
    Simd::Store(lanes,
                Simd::SelectFirst(count, Simd::Zero(), Simd::Load(lanes)));
  }

  void AddBiasGradient(int64_t j, int n, int lane) {
    for (int at = lane; at < rows_; ++at) {
      for (int row = 0; row < n; ++row) {
        target_->d_bias[(first_ + at) * target_->d_bias_row_stride +
                        (j + row) * target_->d_bias_column_stride] +=
            scratch_.d_scores[row * kQueryTile + at];
      }
    }
  }

  // Whether every number that a masked weight of 0 would multiply is finite.
  bool Finite(int64_t j, int n) const {
    return query_tile_finite_ &&
           AllFinite<Simd>(head_->key + j * head_->key_stride,
                           head_->key_stride, n, head_->width);
  }

  // The three products with masked pairs left out one by one: 0 times infinity
  // is NaN. The order, and so the bits of what is finite, are those of the fast
  // products.
  void CarefulProducts(int64_t j, int n, int lane) {
    const int64_t width = PaddedWidth(head_->width);
    const int64_t value_width = PaddedWidth(head_->value_width);
    // target += sum over the queries of this segment of factor x
    const auto add_queries = [&](int row, const float* factors, const float* x,
                                 int64_t stride, int64_t k, float& target) {
      float sum = 0;
      for (int at = lane; at < rows_; ++at) {
        if (!Visible(*head_, first_ + at, j + row)) continue;
        sum = __builtin_fmaf(factors[row * kQueryTile + at], x[at * stride + k],
                             sum);
      }
      target += sum;
    };
    for (int row = 0; row < n; ++row) {
      const int64_t key = j + row - begin_;
      for (int64_t k = 0; k < head_->value_width; ++k) {
        add_queries(row, scratch_.weights, scratch_.output_rows, value_width, k,
                    scratch_.d_value[key * value_width + k]);
      }
      for (int64_t k = 0; k < head_->width; ++k) {
        add_queries(row, scratch_.d_scores, scratch_.query_rows, width, k,
                    scratch_.d_key[key * width + k]);
      }
    }
    for (int at = lane; at < rows_; ++at) {
      for (int64_t k = 0; k < head_->width; ++k) {
        float sum = 0;
        for (int row = 0; row < n; ++row) {
          if (!Visible(*head_, first_ + at, j + row)) continue;
          sum = __builtin_fmaf(head_->key[(j + row) * head_->key_stride + k],
                               scratch_.d_scores[row * kQueryTile + at], sum);
        }
        scratch_.d_query[k * kQueryTile + at] += sum;
      }
    }
  }

  BackwardScratch& scratch_;
  const HeadProblem* head_ = nullptr;
  const BackwardTarget* target_ = nullptr;
  int64_t range_begin_ = 0;
  int64_t range_end_ = 0;
  int64_t begin_ = 0;  // of the block of keys at work
  int64_t end_ = 0;
  int64_t first_ = 0;
  int rows_ = 0;
  int lanes_ = 0;
  bool query_tile_finite_ = true;  // Q and dO of the tile
};

}  // namespace softlookup::kernels

#endif  // SOFTLOOKUP_ATTENTION_KERNELS_BACKWARD_KERNEL_H_
