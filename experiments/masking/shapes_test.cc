#include "experiments/masking/shapes.h"

#include "base/json.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

TEST(MeasureFigureShapes, ProjectsAttendsAndAverages) {
  const Json shapes = MeasureFigureShapes(1, 3, 16, 8).value();
  EXPECT_EQ(shapes["X"]["sizes"], Json({3, 16}));
  EXPECT_EQ(shapes["W_Q"]["sizes"], Json({16, 8}));
  EXPECT_EQ(shapes["W_K"]["shape"], "(d, dk)");
  EXPECT_EQ(shapes["W_V"]["sizes"], Json({16, 6}));
  EXPECT_EQ(shapes["K"]["shape"], "(T, dk)");
  EXPECT_EQ(shapes["V"]["shape"], "(T, dv)");
  EXPECT_EQ(shapes["S"]["sizes"], Json({3, 3}));
  EXPECT_EQ(shapes["P"]["shape"], "(T, T)");
  EXPECT_EQ(shapes["O"]["sizes"], Json({3, 6}));
}

TEST(MeasureListingShapes, CountsPadsAndPairs) {
  const Json shapes = MeasureListingShapes(1, {2, 3, 4, 8}, 1).value();
  EXPECT_EQ(shapes["pad"]["shape"], "(B, 1, 1, T)");
  EXPECT_EQ(shapes["mask"]["sizes"], Json({2, 1, 4, 4}));
  EXPECT_EQ(shapes["s"]["shape"], "(B, h, T, T)");
  EXPECT_EQ(shapes["pads_of_the_second_sequence"], 3);
  // 10 causal pairs, and 4 queries that see key 0.
  EXPECT_EQ(shapes["pairs_allowed"], 14);
}

}  // namespace
}  // namespace softlookup
