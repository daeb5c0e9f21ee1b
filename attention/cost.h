// What sequence layers cost: exact counts for a layer, a token, a sequence.
//
//   layer            operations   sequential   longest path   memory for the
//                    (table)      steps                       next token
//   recurrent        T d^2        T            T - 1          d
//   self-attention   T^2 d        1            1              2 t d
//   convolution      k T d^2      1            ~ T / k, or    (k - 1) d
//                                              log_k T if dilated
//
// The table (Vaswani et al. 2017, Table 1, without constants) counts how
// positions mix: the recurrent matrix at T steps, T^2 pairs scored by dot
// products of length d, k taps at T positions. The other counts are complete:
// a multiply-add is 2 floating-point operations (FLOPs), and projections, or
// the recurrent layer's product with its input, come on top.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(
//       LayerCost cost,
//       CountLayer(LayerKind::kSelfAttention, {.positions = 50, .width =
//       512}));
//   cost.table_operations;             // 50 * 50 * 512
//   AttentionToRecurrentRatio(50, 512) // T / d = 0.098
//
// Counts are int64: InvalidArgument for a size below 1, OutOfRange when a
// count does not fit. Memory is in numbers, not bytes.
// Source: the chapter, introduction and section 4.
#ifndef SOFTLOOKUP_ATTENTION_COST_H_
#define SOFTLOOKUP_ATTENTION_COST_H_

#include <cstdint>

#include "absl/status/statusor.h"

namespace softlookup {

enum class LayerKind {
  kRecurrent,      // h_t = f(h_{t-1} W_h + x_t W_x)
  kSelfAttention,  // W_Q, W_K, W_V, W_O; every position sees every other
  kConvolution,    // k taps, each a d x d matrix
};

struct LayerShape {
  int64_t positions = 1;  // T
  int64_t width = 1;      // d
  int64_t kernel = 3;     // k, of a convolution only
};

struct LayerCost {
  int64_t table_operations = 0;  // as in the table above
  int64_t sequential_steps = 0;  // that wait for one another
  int64_t parameters = 0;        // without biases: 2 d^2, 4 d^2, k d^2
  int64_t mixing_flops = 0;      // 2 T d^2, 4 T^2 d (scores, then values),
                                 // 2 k T d^2
  int64_t projection_flops = 0;  // 2 T d^2, 8 T d^2, 0
};

// The cost of one layer on one sequence.
absl::StatusOr<LayerCost> CountLayer(LayerKind kind, const LayerShape& shape);

// T^2 d / (T d^2) = T / d: self-attention costs less while T < d.
double AttentionToRecurrentRatio(int64_t positions, int64_t width);

// The steps that separate the first position from the last: T - 1 updates of
// a recurrent state, 1 layer of self-attention, or the layers of kernel k
// that a stack of causal convolutions needs to connect them.
struct PathLength {
  int64_t contiguous = 0;  // ceil((T - 1) / (k - 1)) for a convolution
  int64_t dilated = 0;     // ceil(log_k T): layer l has dilation k^l; for the
                           // other kinds the same as contiguous
};
// A convolution needs kernel >= 2.
absl::StatusOr<PathLength> MaximumPathLength(LayerKind kind,
                                             const LayerShape& shape);

// Generating one token when shape.positions positions are seen, the token's
// own included (t).
struct TokenCost {
  int64_t mixing_flops = 0;      // 2 d^2, 4 t d, 2 k d^2
  int64_t projection_flops = 0;  // 2 d^2, 8 d^2, 0
  int64_t memory = 0;            // numbers kept for the next token:
                                 // d, 2 t d, (k - 1) d
};
absl::StatusOr<TokenCost> CountToken(LayerKind kind, const LayerShape& shape);

// Multi-head attention with h heads of width d_k = d / h, counted head by
// head, so that what cancels is seen to cancel.
struct MultiHeadShape {
  int64_t positions = 1;  // T
  int64_t width = 1;      // d, a multiple of heads
  int64_t heads = 1;      // h
};

struct MultiHeadCost {
  int64_t head_width = 0;                // d_k
  int64_t parameters = 0;                // 4 d h d_k = 4 d^2
  int64_t projection_multiply_adds = 0;  // d h d_k = d^2, one token and role
  int64_t projection_flops = 0;          // 2 d^2, one token and role
  int64_t four_projection_flops = 0;     // 8 d^2, one token
  int64_t score_multiply_adds = 0;       // h T^2 d_k = T^2 d, one sequence
  int64_t score_elements = 0;            // T^2, one head
  int64_t masked_elements = 0;           // T (T - 1) / 2, one head, causal
  int64_t score_flops = 0;               // 2 T d, the last token's scores
  int64_t value_flops = 0;               // 2 T d, the last token's mixing
  int64_t causal_mixing_flops = 0;       // sum of 4 t d over t = 1 to T
  int64_t full_mixing_flops = 0;         // 4 T^2 d, nothing skipped
};
absl::StatusOr<MultiHeadCost> CountMultiHead(const MultiHeadShape& shape);

}  // namespace softlookup

#endif  // SOFTLOOKUP_ATTENTION_COST_H_
