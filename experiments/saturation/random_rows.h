// Rows of attention drawn at random: what the scale of the scores does to them.
//
// A row is one query against n keys, all of whose entries are independent
// standard normals; each row also gets a gradient g of its weights, dL/dp,
// drawn in the same way. Weights and gradients are those of the float64
// reference.
//
//   const RandomRows rows(options);                  // draws, kept
//   const RowMeasures scaled = MeasureRows(rows, 1 / std::sqrt(128)).value();
//   Median(scaled.largest_weight);                   // about 0.22
//
// The same rows can be measured under several scales, which makes the
// comparison a paired one.
//
// Source: the chapter, section 2, on why scores are scaled.
#ifndef SOFTLOOKUP_EXPERIMENTS_SATURATION_RANDOM_ROWS_H_
#define SOFTLOOKUP_EXPERIMENTS_SATURATION_RANDOM_ROWS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "base/tensor/tensor.h"

namespace softlookup {

struct RandomRowsOptions {
  int64_t rows = 0;
  int64_t keys = 0;   // n, at least 2
  int64_t width = 0;  // d_k
  uint64_t seed = 1;
};

struct RandomRows {
  explicit RandomRows(const RandomRowsOptions& options);

  Tensor<double> query;            // [rows, 1, 1, d_k]
  Tensor<double> key;              // [rows, 1, n, d_k]
  Tensor<double> weight_gradient;  // g, [rows, 1, 1, n]
};

// Every query and key divided by its root mean square: QK normalisation
// without learned gains. Its scores do not depend on the scale of the entries.
RandomRows Normalised(RandomRows rows);

// Queries and keys multiplied by `factor`: larger W_Q and W_K.
RandomRows Enlarged(RandomRows rows, double factor);

// One number per row. The scores are those that enter the softmax.
struct RowMeasures {
  std::vector<double> largest_weight;
  std::vector<double> entropy;         // in nats
  std::vector<double> jacobian_trace;  // 1 - sum p^2
  // Frobenius norm of J: no g of length 1 has a longer J g.
  std::vector<double> jacobian_norm;
  std::vector<double> score_gradient;  // |J g|, the length of dL/ds
  // The largest |dL/ds - J g| with J written out, over the largest |g|.
  std::vector<double> product_deviation;
  std::vector<double> query_gradient;    // the length of dL/dq
  std::vector<double> gap_to_runner_up;  // best score minus second best
  std::vector<double> gap_to_mean_rest;  // minus the mean of the others
  // Best score minus each of the others, n - 1 entries per row.
  std::vector<double> gap_to_each;
  std::vector<double> scores;  // all of them, n entries per row
};

// InvalidArgument as the reference gives it: a scale that is not finite.
absl::StatusOr<RowMeasures> MeasureRows(const RandomRows& rows, double scale);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_SATURATION_RANDOM_ROWS_H_
