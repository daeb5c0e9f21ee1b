// Attention forward on one tile of queries, with a streaming softmax.
//
// Scores are computed transposed, S^T = K Q^T, with the SIMD lanes along the
// queries: then the row maximum, row sum and rescaling are lane-wise, and only
// the small query tile is transposed. One tile of keys after another is
// scored, exponentiated and mixed into the output, which is rescaled when a
// row's maximum grows (Milakov and Gimelshein 2018; Dao et al. 2022).
//
// Fixed order (see determinism.md): a score is one fused chain over the width;
// an output element is one fused chain over the keys of each segment (a key
// tile, cut where a lane group begins to see less), added up after what was
// there was multiplied by the change of the maximum at each key tile; a row sum
// is a chain of additions within a key tile, then added. Keys that a whole lane
// group does not see are left out; a masked key inside a group has a weight of
// exactly 0.
#ifndef SOFTLOOKUP_ATTENTION_KERNELS_FORWARD_KERNEL_H_
#define SOFTLOOKUP_ATTENTION_KERNELS_FORWARD_KERNEL_H_

#include <cstdint>

#include "attention/kernels/always_inline.h"
#include "attention/kernels/exp2.h"
#include "attention/kernels/masked_head.h"
#include "attention/kernels/tile_memory.h"
#include "attention/kernels/tile_product.h"

namespace softlookup::kernels {

// What one task of the forward pass needs besides its inputs: O(tile).
struct alignas(64) ForwardScratch {
  float query[kMaxWidth * kQueryTile];   // Q^T, scaled
  float weights[kKeyTile * kQueryTile];  // S^T, then P^T
  float output[kMaxWidth * kQueryTile];  // O^T, not yet normalised
  float maximum[kQueryTile];
  float sum[kQueryTile];
};

struct ForwardTarget {
  float* output;  // [Tq, Dv]
  int64_t output_stride;
  float* log_sum_exp;  // [Tq]
};

inline constexpr float kLn2 = 0.693147181f;
inline constexpr float kLowest = -3.40282347e38f;

template <typename Simd>
class ForwardKernel {
 public:
  ForwardKernel(const HeadProblem& head, const ForwardTarget& target,
                ForwardScratch& scratch)
      : head_(head), target_(target), scratch_(scratch) {}

  // Queries [first, first + kQueryTile), as far as there are any.
  void Run(int64_t first) {
    first_ = first;
    rows_ = static_cast<int>(Smaller(kQueryTile, head_.queries - first));
    lanes_ = (rows_ + kLaneGroup - 1) / kLaneGroup * kLaneGroup;
    LoadQueries();
    bool fresh = true;
    const int64_t end = KeyEnd(head_, first_ + rows_ - 1);
    int64_t j = head_.key_begin;
    while (j < end) {
      // Tiles start at multiples of kKeyTile, whatever key_begin is.
      const int64_t stop = Smaller(end, (j / kKeyTile + 1) * kKeyTile);
      // The tile of queries that comes first of a head finds its keys out of
      // the caches.
      if (first_ + kQueryTile >= head_.queries) {
        const int64_t ahead = Smaller(end - stop, kKeyTile);
        PrefetchRows(head_.key + stop * head_.key_stride, head_.key_stride,
                     ahead, head_.width);
        PrefetchRows(head_.value + stop * head_.value_stride,
                     head_.value_stride, ahead, head_.value_width);
      }
      KeyTile(j, static_cast<int>(stop - j), fresh);
      fresh = false;
      j = stop;
    }
    StoreOutput(fresh);
  }

 private:
  using Float = typename Simd::Float;

  void LoadQueries() {
    LoadTransposed<Simd>(head_.query + first_ * head_.query_stride,
                         head_.query_stride, rows_, lanes_, head_.width,
                         QueryScale(head_), scratch_.query);
    for (int lane = 0; lane < lanes_; ++lane) {
      scratch_.maximum[lane] = kLowest;
      scratch_.sum[lane] = 0;
    }
  }

  void KeyTile(int64_t j, int n, bool fresh) {
    int keys[kQueryTile / kLaneGroup];
    for (int g = 0; g * kLaneGroup < lanes_; ++g) {
      keys[g] = GroupKeys(head_, first_ + g * kLaneGroup, j, n);
    }
    Segments(n, keys, [&](int key0, int key1, int lane) {
      Product<false>(
          lane, key1 - key0,
          {head_.key + (j + key0) * head_.key_stride, head_.key_stride, 1},
          scratch_.query, scratch_.weights + key0 * kQueryTile, head_.width);
    });
    const bool masked = MaskTile(j, n);
    for (int g = 0; g * kLaneGroup < lanes_; ++g) {
      if (head_.bias == nullptr) {
        Softmax<false>(g * kLaneGroup, keys[g], fresh);
      } else {
        Softmax<true>(g * kLaneGroup, keys[g], fresh);
      }
    }
    const ConstTile value = {head_.value + j * head_.value_stride, 1,
                             head_.value_stride};
    if (masked && !AllFinite<Simd>(value.data, head_.value_stride, n,
                                   head_.value_width)) {
      if (fresh) ClearOutput();
      Segments(n, keys, [&](int key0, int key1, int lane) {
        CarefulProduct(j, key0, key1, lane);
      });
      return;
    }
    bool first_segment = fresh;
    Segments(n, keys, [&](int key0, int key1, int lane) {
      const ConstTile segment = {value.data + key0 * value.column_stride, 1,
                                 value.column_stride};
      const float* weights = scratch_.weights + key0 * kQueryTile;
      if (first_segment) {
        if (lane > 0) ClearOutput();
        if (lane == 0) {
          Product<false>(lane, head_.value_width, segment, weights,
                         scratch_.output, key1 - key0);
        } else {
          Product<true>(lane, head_.value_width, segment, weights,
                        scratch_.output, key1 - key0);
        }
        first_segment = false;
      } else {
        Product<true>(lane, head_.value_width, segment, weights,
                      scratch_.output, key1 - key0);
      }
    });
    if (first_segment) ClearOutput();
  }

  // Cuts the keys [0, n) into runs [key0, key1) that the same lane groups see:
  // groups further down see at least as many keys. Calls function(key0, key1,
  // first lane).
  template <typename Function>
  SOFTLOOKUP_INLINE void Segments(int n, const int* keys, Function function) {
    int key0 = 0;
    for (int g = 0; g * kLaneGroup < lanes_ && key0 < n; ++g) {
      if (keys[g] > key0) {
        function(key0, keys[g], g * kLaneGroup);
        key0 = keys[g];
      }
    }
  }

  // C[row][lane] (+)= sum_k A[row][k] B[k][lane] for lanes from `lane` on.
  template <bool kAccumulate>
  SOFTLOOKUP_INLINE void Product(int lane, int64_t rows, ConstTile a,
                                 const float* b, float* c, int64_t depth) {
    TileProduct<Simd, kAccumulate>(rows, a, b + lane, kQueryTile, c + lane,
                                   kQueryTile, lanes_ - lane, depth);
  }

  // Adds the bias and sets the scores of masked pairs to -inf. Returns whether
  // the tile has masked pairs.
  bool MaskTile(int64_t j, int n) {
    const bool general = head_.allowed != nullptr || head_.bias != nullptr;
    const bool diagonal = head_.causal && KeyEnd(head_, first_) < j + n;
    if (!general && !diagonal) return false;
    if (!general) {
      for (int key = 0; key < n; ++key) {
        float* row = scratch_.weights + key * kQueryTile;
        // Query i sees key j + key from i = j + key - causal_offset on.
        const int64_t sees = j + key - head_.causal_offset - first_;
        const int blind = static_cast<int>(Larger(Smaller(sees, rows_), 0));
        // Groups before that see nothing of the key and leave it out.
        int lane = blind / kLaneGroup * kLaneGroup;
        for (; lane < blind; lane += Simd::kLanes) {
          Simd::Store(
              row + lane,
              Simd::SelectFirst(
                  static_cast<int>(Smaller(blind - lane, Simd::kLanes)),
                  Simd::Set(-__builtin_inff()), Simd::Load(row + lane)));
        }
      }
      return true;
    }
    bool masked = false;
    for (int key = 0; key < n; ++key) {
      float* row = scratch_.weights + key * kQueryTile;
      for (int lane = 0; lane < rows_; ++lane) {
        const int64_t i = first_ + lane;
        if (!Visible(head_, i, j + key)) {
          row[lane] = -__builtin_inff();
          masked = true;
        } else if (head_.bias != nullptr) {
          row[lane] += head_.bias[i * head_.bias_row_stride +
                                  (j + key) * head_.bias_column_stride];
        }
      }
    }
    return masked;
  }

  // One lane group: new maximum, weights in place, sum, and the output rescaled
  // by how much the maximum grew.
  template <bool kBias>
  SOFTLOOKUP_INLINE void Softmax(int lane, int n, bool fresh) {
    constexpr int kVectors = kLaneGroup / Simd::kLanes;
    float* weights = scratch_.weights + lane;
    Float before[kVectors];
    Float maximum[kVectors];
    Float sum[kVectors];
    // A maximum is the same in any order: two chains, so that one need not
    // wait for the other.
    Float other[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      before[v] = Simd::Load(scratch_.maximum + lane + v * Simd::kLanes);
      maximum[v] = before[v];
      other[v] = before[v];
      sum[v] = Simd::Zero();
    }
    int key = 0;
    for (; key + 2 <= n; key += 2) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        const float* score = weights + key * kQueryTile + v * Simd::kLanes;
        maximum[v] = Simd::Max(maximum[v], Simd::Load(score));
        other[v] = Simd::Max(other[v], Simd::Load(score + kQueryTile));
      }
    }
    if (key < n) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        maximum[v] = Simd::Max(
            maximum[v],
            Simd::Load(weights + key * kQueryTile + v * Simd::kLanes));
      }
    }
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      maximum[v] = Simd::Max(maximum[v], other[v]);
    }
    for (key = 0; key < n; ++key) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        float* weight = weights + key * kQueryTile + v * Simd::kLanes;
        const Float p =
            Exponential<Simd, kBias>(Simd::Sub(Simd::Load(weight), maximum[v]));
        sum[v] = Simd::Add(sum[v], p);
        Simd::Store(weight, p);
      }
    }
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      const int at = lane + v * Simd::kLanes;
      if (!fresh) {
        const Float shrink =
            Exponential<Simd, kBias>(Simd::Sub(before[v], maximum[v]));
        sum[v] =
            Simd::Add(Simd::Mul(Simd::Load(scratch_.sum + at), shrink), sum[v]);
        if (Simd::AnyNotOne(shrink)) Shrink(at, shrink);
      }
      Simd::Store(scratch_.sum + at, sum[v]);
      Simd::Store(scratch_.maximum + at, maximum[v]);
    }
  }

  SOFTLOOKUP_INLINE void Shrink(int lane, Float factor) {
    for (int64_t k = 0; k < head_.value_width; ++k) {
      float* output = scratch_.output + k * kQueryTile + lane;
      Simd::Store(output, Simd::Mul(Simd::Load(output), factor));
    }
  }

  void ClearOutput() {
    for (int64_t k = 0; k < head_.value_width; ++k) {
      for (int lane = 0; lane < lanes_; ++lane) {
        scratch_.output[k * kQueryTile + lane] = 0;
      }
    }
  }

  // A segment's product where a masked key has a value that is not finite: 0
  // times infinity is NaN, so masked pairs are left out one by one. The order,
  // and so the bits of what is finite, are those of the fast product.
  void CarefulProduct(int64_t j, int key0, int key1, int first_lane) {
    for (int lane = first_lane; lane < rows_; ++lane) {
      for (int64_t k = 0; k < head_.value_width; ++k) {
        float sum = 0;
        for (int key = key0; key < key1; ++key) {
          if (!Visible(head_, first_ + lane, j + key)) continue;
          sum = __builtin_fmaf(head_.value[(j + key) * head_.value_stride + k],
                               scratch_.weights[key * kQueryTile + lane], sum);
        }
        scratch_.output[k * kQueryTile + lane] += sum;
      }
    }
  }

  // Whether a score that this lane's query sees is NaN, where its weights are:
  // a score of +inf makes them NaN as well. The running maximum does not tell.
  bool HasNanScore(int lane) const {
    const int64_t i = first_ + lane;
    for (int64_t j = head_.key_begin; j < KeyEnd(head_, i); ++j) {
      if (!Visible(head_, i, j)) continue;
      const float* key = head_.key + j * head_.key_stride;
      float score = 0;
      for (int64_t k = 0; k < head_.width; ++k) {
        score = __builtin_fmaf(key[k], scratch_.query[k * kQueryTile + lane],
                               score);
      }
      if (head_.bias != nullptr) {
        score +=
            head_
                .bias[i * head_.bias_row_stride + j * head_.bias_column_stride];
      }
      if (score != score) return true;
    }
    return false;
  }

  void StoreOutput(bool fresh) {
    if (fresh) ClearOutput();
    float inverse[kQueryTile];
    float log_sum_exp[kQueryTile];
    const Float maximum_unit = Simd::Set(head_.bias == nullptr ? kLn2 : 1.0f);
    for (int lane = 0; lane < lanes_; lane += Simd::kLanes) {
      const Float sum = Simd::Load(scratch_.sum + lane);
      Simd::Store(inverse + lane, Simd::Div(Simd::Set(1.0f), sum));
      Simd::Store(log_sum_exp + lane,
                  Simd::Fma(Simd::Load(scratch_.maximum + lane), maximum_unit,
                            Simd::Log(sum)));
    }
    for (int lane = 0; lane < rows_; ++lane) {
      const int64_t i = first_ + lane;
      const float sum = scratch_.sum[lane];
      if (fresh || (sum == 0 && !SeesAnyKey(head_, i))) {
        log_sum_exp[lane] = -__builtin_inff();
        inverse[lane] = 0;
      } else if (sum != sum && !HasNanScore(lane)) {
        log_sum_exp[lane] = __builtin_inff();
      }
      target_.log_sum_exp[i] = log_sum_exp[lane];
    }
    float* output = target_.output + first_ * target_.output_stride;
    StoreTransposed<Simd>(scratch_.output, rows_, head_.value_width, inverse,
                          output, target_.output_stride);
  }

  const HeadProblem& head_;
  const ForwardTarget& target_;
  ForwardScratch& scratch_;
  int64_t first_ = 0;
  int rows_ = 0;
  int lanes_ = 0;
};

}  // namespace softlookup::kernels

#endif  // SOFTLOOKUP_ATTENTION_KERNELS_FORWARD_KERNEL_H_
