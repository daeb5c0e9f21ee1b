#include "experiments/multi_head/stream.h"

#include "base/json.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

constexpr MultiHeadSizes kSizes = {
    .batch = 1, .positions = 4, .width = 6, .heads = 2};

TEST(MeasureInfluence, FeedForwardStaysAtItsPosition) {
  const Json influence = MeasureInfluence(1, kSizes).value();
  const Json& feed_forward = influence["feed_forward"];
  EXPECT_EQ(feed_forward["largest_across_positions"], 0);
  EXPECT_GT(feed_forward["largest_at_own_position"], 0.01);
  const Json& attention = influence["attention"];
  EXPECT_GT(attention["largest_across_positions"], 0.01);
  EXPECT_EQ(attention["largest_from_later_positions"], 0);
  const Json& matrix = attention["by_output_and_input_position"];
  ASSERT_EQ(matrix.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    for (size_t j = 0; j < 4; ++j) {
      EXPECT_EQ(matrix[i][j] > 0, j <= i) << i << j;
    }
  }
}

TEST(MeasureResidualStream, SumsItsWrites) {
  const Json residual = MeasureResidualStream(1, kSizes, 3).value();
  EXPECT_EQ(residual["sublayers"], 6);
  EXPECT_LE(residual["sum_difference_over_bound"], 1);
  EXPECT_EQ(residual["write_norms"].size(), 6u);
  EXPECT_EQ(residual["change_when_rerun_from_the_stream"], 0);
  EXPECT_GT(residual["change_when_a_write_is_missing"], 0.01);
}

TEST(MeasureReach, OneReaderPerToken) {
  const Json reach = MeasureReach(1, 20).value();
  // 11 tokens, each read one position on, and the first by itself as well.
  EXPECT_EQ(reach["tokens_changed"], 11);
  EXPECT_EQ(reach["looks_one_back"]["writes_changed_where_the_token_is_read"],
            12);
  EXPECT_EQ(reach["looks_one_back"]["writes_changed_elsewhere"], 0);
  // Token j reaches positions j to 11; of these 77 pairs 12 are the readers'.
  EXPECT_EQ(reach["looks_everywhere"]["writes_changed_elsewhere"], 77 - 12);
}

}  // namespace
}  // namespace softlookup
