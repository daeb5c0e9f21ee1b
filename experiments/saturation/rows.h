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
//   SaturationRows found = MeasureSaturation(saturation_options).value();
//   found.scaled.largest_weight.median               // 0.22 with its error
//
// The same rows can be measured under several scales, which makes the
// comparison a paired one.
//
// Source: the chapter, section 2, on why scores are scaled, and experiment 1.
#ifndef SOFTLOOKUP_EXPERIMENTS_SATURATION_ROWS_H_
#define SOFTLOOKUP_EXPERIMENTS_SATURATION_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/statistics/estimate.h"
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

// One number per row, where nothing else is said. The scores are those that
// enter the softmax.
struct RowMeasures {
  std::vector<double> largest_weight;
  std::vector<double> entropy;         // in nats
  std::vector<double> jacobian_trace;  // 1 - sum p^2
  // Frobenius norm of J: no g of length 1 has a longer J g.
  std::vector<double> jacobian_norm;
  std::vector<double> score_gradient;    // |J g|, the length of dL/ds
  std::vector<double> query_gradient;    // the length of dL/dq
  std::vector<double> gap_to_runner_up;  // best score minus second best
  std::vector<double> gap_to_mean_rest;  // minus the mean of the others
  // Best score minus each of the others, n - 1 entries per row.
  std::vector<double> gap_to_each;
  std::vector<double> scores;  // all of them, n entries per row
  // Over all rows, the largest |dL/ds - J g| with J written out, over the
  // row's largest |g|.
  double product_deviation = 0;
};

// InvalidArgument as the reference gives it: a scale that is not finite.
absl::StatusOr<RowMeasures> MeasureRows(const RandomRows& rows, double scale);

struct SaturationOptions {
  int64_t draws = 0;   // rows, a multiple of `blocks`
  int64_t keys = 0;    // at least 2
  int64_t width = 0;   // d_k
  int64_t blocks = 0;  // replicates behind the standard errors, at least 2
  // The sweep over widths 1, 2, 4, ... has its own number of rows, a multiple
  // of `blocks` as well.
  int64_t sweep_draws = 0;
  int64_t largest_width = 0;
  uint64_t seed = 1;
};

struct MeanAndMedian {
  Estimate mean;
  Estimate median;
};

// Many rows under one scale, by the names of RowMeasures.
struct RowSummary {
  double score_deviation = 0;  // root mean square of the scores
  MeanAndMedian largest_weight;
  MeanAndMedian entropy;
  MeanAndMedian jacobian_trace;
  MeanAndMedian score_gradient;
};

struct GapSummary : MeanAndMedian {
  Estimate fraction_at_least_10;
};

struct DetailedRowSummary : RowSummary {
  Histogram largest_weights;  // of [0, 1]
  Histogram entropies;        // of [0, log n]
  MeanAndMedian jacobian_norm;
  double product_deviation = 0;
  MeanAndMedian query_gradient;
  GapSummary gap_to_runner_up;
  GapSummary gap_to_mean_rest;
  GapSummary gap_to_each;
};

// A statistic of the unscaled rows over that of the scaled ones.
struct GradientRatios {
  MeanAndMedian jacobian_norm;
  MeanAndMedian score_gradient;
  MeanAndMedian query_gradient;
};

struct RowsAtWidth {
  int64_t width = 0;  // d_k
  RowSummary unscaled;
  RowSummary scaled;
  GradientRatios unscaled_over_scaled;
};

// Scaled rows whose queries and keys are multiplied by `factor`.
struct EnlargedRows {
  std::string name;
  double factor = 0;
  RowSummary plain;
  RowSummary qk_normalised;
  Estimate entropy_lost;  // in nats per row, against the rows as drawn
  // Root mean square of the scores over that of the rows as drawn.
  double spread_growth = 0;
  double qk_normalised_spread_growth = 0;
};

struct SaturationRows {
  RowSummary uniform;           // the rows under scale 0: all scores are equal
  DetailedRowSummary unscaled;  // under scale 1
  DetailedRowSummary scaled;    // under 1 / sqrt(d_k)
  DetailedRowSummary qk_normalised;  // the same after QK normalisation
  GradientRatios unscaled_over_scaled;
  std::vector<RowsAtWidth> by_width = {};   // 1, 2, 4, ...
  std::vector<EnlargedRows> enlarged = {};  // "halved", "doubled", "quadrupled"
};

// InvalidArgument as MeasureRows gives it.
absl::StatusOr<SaturationRows> MeasureSaturation(
    const SaturationOptions& options);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_SATURATION_ROWS_H_
