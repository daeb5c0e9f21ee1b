#include "experiments/layer_cost/counts.h"

#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

constexpr CountOptions kOptions = {.short_positions = 6,
                                   .short_width = 4,
                                   .long_positions = 64,
                                   .long_width = 16,
                                   .kernel = 3,
                                   .sequence = 30,
                                   .pairs_up_to = 7};

const CountResults& Counts() {
  static const auto& counts =
      *new CountResults(MeasureCounts(kOptions).value());
  return counts;
}

TEST(Counts, PointsOfTheTable) {
  const CostTable& table = Counts().table;
  EXPECT_EQ(table.short_sequence.recurrent_operations, 6 * 4 * 4);
  EXPECT_EQ(table.short_sequence.attention_operations, 6 * 6 * 4);
  EXPECT_EQ(table.short_sequence.convolution_operations, 3 * 6 * 4 * 4);
  EXPECT_EQ(table.short_sequence.ratio, 1.5);
  EXPECT_EQ(table.below.ratio, 0.75);
  EXPECT_EQ(table.equal.ratio, 1);
  EXPECT_EQ(table.equal_deviation, 0);
  EXPECT_EQ(table.above.ratio, 1.25);
  EXPECT_EQ(table.long_context.ratio, 4);
  EXPECT_EQ(table.long_doubled.positions, 128);
  EXPECT_EQ(table.ratio_growth, 2);
  EXPECT_EQ(table.attention_growth, 4);
  EXPECT_EQ(table.recurrent_growth, 2);
  EXPECT_EQ(table.linearity_deviation, 0);
  EXPECT_EQ(table.quadratic_deviation, 0);
}

TEST(Counts, RunsOfTheShortLayers) {
  const ShortRun& run = Counts().run;
  EXPECT_EQ(run.recurrence, 6 * 4 * 4);
  EXPECT_EQ(run.scores, 6 * 6 * 4);
  EXPECT_EQ(run.weighted_sums, 6 * 6 * 4);
  EXPECT_EQ(run.one_projection, 6 * 4 * 4);
  EXPECT_EQ(run.attention_projections, 4 * 6 * 4 * 4);
  EXPECT_EQ(run.recurrence_deviation, 0);
  EXPECT_EQ(run.scores_deviation, 0);
  EXPECT_EQ(run.weighted_sums_deviation, 0);
  EXPECT_EQ(run.attention_projections_deviation, 0);
  EXPECT_EQ(run.projection_minus_recurrence, 0);
  EXPECT_EQ(run.ratio_deviation, 0);
}

TEST(Counts, ChainsAndPaths) {
  const SequentialSteps& sequential = Counts().sequential;
  const PathDeviations& path = Counts().path;
  EXPECT_EQ(sequential.recurrent, 30);
  EXPECT_EQ(sequential.recurrent_all_sequences_together, 30);
  EXPECT_EQ(sequential.recurrent_one_sequence_after_another, 8 * 30);
  EXPECT_EQ(sequential.attention, 1);
  EXPECT_EQ(sequential.recurrent_minus_formula, 0);
  EXPECT_EQ(sequential.attention_minus_formula, 0);
  EXPECT_EQ(path.recurrent, 0);
  EXPECT_EQ(path.attention, 0);
  const std::vector<PathLengths>& curve = Counts().path_curve;
  ASSERT_EQ(curve.size(), 11);
  EXPECT_EQ(curve[3].distance, 8);
  EXPECT_EQ(curve[3].recurrent, 8);
  EXPECT_EQ(curve[3].attention, 1);
  EXPECT_EQ(curve[3].convolution, 4);          // two positions a layer
  EXPECT_EQ(curve[3].dilated_convolution, 2);  // 2 + 6
}

TEST(Counts, Curves) {
  ASSERT_EQ(Counts().curves.size(), 2);
  EXPECT_EQ(Counts().curves[0].width, 4);
  EXPECT_EQ(Counts().curves[0].points.size(), 5);
  EXPECT_EQ(Counts().curves[1].width, 16);
  const std::vector<CurvePoint>& points = Counts().curves[1].points;
  ASSERT_EQ(points.size(), 5);  // 16 to 4 * 64
  EXPECT_EQ(points[4].positions, 256);
  EXPECT_EQ(points[0].ratio, 1.0);
  EXPECT_EQ(points[1].score_elements, 32 * 32);
  EXPECT_EQ(points[1].attention.memory_for_next_token, 2 * 32 * 16);
  EXPECT_EQ(points[1].recurrent.memory_for_next_token, 16);
  // 2 T^2 d + 4 T d^2, and 2 T d^2.
  EXPECT_EQ(points[1].attention.multiply_adds_with_projections,
            2 * 32 * 32 * 16 + 4 * 32 * 16 * 16);
  EXPECT_EQ(points[1].recurrent.multiply_adds_with_projections,
            2 * 32 * 16 * 16);
}

TEST(Counts, RefusesAKernelThatConnectsNothing) {
  CountOptions options = kOptions;
  options.kernel = 1;
  EXPECT_EQ(MeasureCounts(options).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace softlookup
