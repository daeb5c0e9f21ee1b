// What the cost table says, and what the layers' own code does.
//
//   CountResults counts = MeasureCounts(options).value();
//   counts.table.short_sequence.ratio                 // 50 / 512
//
// Source: the chapter, section 1, on costs and trade-offs.
#ifndef SOFTLOOKUP_EXPERIMENTS_LAYER_COST_COUNTS_H_
#define SOFTLOOKUP_EXPERIMENTS_LAYER_COST_COUNTS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

namespace softlookup {

struct CountOptions {
  int64_t short_positions = 0;  // a sentence, whose layers are also run
  int64_t short_width = 0;
  int64_t long_positions = 0;  // a long context, by formula only
  int64_t long_width = 0;
  int64_t kernel = 3;    // of the convolution
  int64_t sequence = 0;  // tokens whose dependent steps are counted by running
  int64_t pairs_up_to = 40;  // positions between which all paths are traced
  uint64_t seed = 1;
};

// The cost table at one point: multiply-adds that mix positions.
struct CostPoint {
  int64_t positions = 0;  // T
  int64_t width = 0;      // d
  int64_t recurrent_operations = 0;
  int64_t attention_operations = 0;
  int64_t convolution_operations = 0;
  double ratio = 0;  // attention over recurrent
};

struct CostTable {
  CostPoint short_sequence;
  CostPoint long_context;
  CostPoint long_doubled;  // twice as many positions
  // T = d - 1, d, d + 1 at the short width.
  CostPoint below;
  CostPoint equal;
  CostPoint above;
  double equal_deviation = 0;  // ratio - 1 at T = d
  // At twice the long context over those at it.
  double recurrent_growth = 0;  // of operations
  double attention_growth = 0;
  double ratio_growth = 0;
  double linearity_deviation = 0;  // growth of the ratio - 2
  double quadratic_deviation = 0;  // growth of attention's operations - 4
};

// The short layers, run on counting numbers: multiply-adds and their
// differences from the formulas.
struct ShortRun {
  int64_t recurrence = 0;
  int64_t scores = 0;         // Q K^T
  int64_t weighted_sums = 0;  // P V
  int64_t one_projection = 0;
  int64_t attention_projections = 0;            // four
  int64_t recurrence_deviation = 0;             // from T d^2
  int64_t scores_deviation = 0;                 // from T^2 d
  int64_t weighted_sums_deviation = 0;          // from T^2 d
  int64_t attention_projections_deviation = 0;  // from 4 T d^2
  int64_t projection_minus_recurrence = 0;
  double ratio_deviation = 0;  // of scores over recurrence from T / d
};

// Dependent steps, run, and their differences from attention/cost.h.
struct SequentialSteps {
  int64_t positions = 0;
  int64_t recurrent = 0;  // one sequence
  int64_t sequences = 0;
  int64_t recurrent_all_sequences_together = 0;
  int64_t recurrent_one_sequence_after_another = 0;
  int64_t attention = 0;
  int64_t recurrent_minus_formula = 0;
  int64_t attention_minus_formula = 0;
};

// Over all pairs j < t of `positions`, the largest deviation of the traced
// number of updates from t - j (recurrent) and from 1 (attention).
struct PathDeviations {
  int64_t positions = 0;
  int64_t recurrent = 0;
  int64_t attention = 0;
};

// Updates between two positions at a distance, by formula.
struct PathLengths {
  int64_t distance = 0;
  int64_t recurrent = 0;
  int64_t attention = 0;
  int64_t convolution = 0;
  int64_t dilated_convolution = 0;
};

// What else a kind of layer costs at a point.
struct LayerTotals {
  int64_t multiply_adds_with_projections = 0;
  int64_t memory_for_next_token = 0;  // numbers
};

struct CurvePoint : CostPoint {
  LayerTotals recurrent;
  LayerTotals attention;
  LayerTotals convolution;
  int64_t score_elements = 0;  // T^2
};

struct CostCurve {
  int64_t width = 0;
  std::vector<CurvePoint> points;  // T = 16, 32, ...
};

struct CountResults {
  CostTable table;
  ShortRun run;
  SequentialSteps sequential;
  PathDeviations path;
  std::vector<PathLengths> path_curve;  // distances 1, 2, 4, ...
  std::vector<CostCurve> curves;        // at the short and the long width
};

// InvalidArgument as attention/cost.h gives it.
absl::StatusOr<CountResults> MeasureCounts(const CountOptions& options);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_LAYER_COST_COUNTS_H_
