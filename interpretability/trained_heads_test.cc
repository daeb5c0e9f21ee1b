#include "interpretability/trained_heads.h"

#include <cstdint>
#include <vector>

#include "base/random/random.h"
#include "base/statistics/estimate.h"
#include "gtest/gtest.h"
#include "interpretability/hand_weighted_transformer.h"
#include "interpretability/repeated_sequences.h"

namespace softlookup {
namespace {

RepeatedSequences Sequences() {
  RandomStream stream(1, "trained_heads_test");
  return DrawRepeats(stream, {.batch = 6,
                              .positions = 18,
                              .vocabulary = 10,
                              .min_period = 4,
                              .max_period = 9});
}

TEST(MeasureHeads, ScoresHandWeightedHeadsAsWhatTheyAre) {
  const HandWeightedTransformer hand(10, 18);
  const auto heads = MeasureHeads(hand.model, hand.weights, Sequences());
  ASSERT_TRUE(heads.ok()) << heads.status();
  ASSERT_EQ(heads->size(), 4);
  for (const TrainedHead& head : *heads) {
    const bool previous = head.layer == 0 && head.head == kPreviousHead;
    const bool induction = head.layer == 1 && head.head == kInductionHead;
    EXPECT_EQ(Mean(head.previous_token) > 0.999, previous);
    EXPECT_EQ(Mean(head.prefix_matching) > 0.999, induction);
    // The induction head copies; the others write nothing that is read.
    EXPECT_NEAR(Mean(head.copying), induction ? 1 : 0, 1e-6);
    // The token's part of the stream is not where the copy goes, so no mix of
    // embeddings raises itself by more than the unembedding gives: all ten
    // eigenvalues of W_E W_V W_O W_U are one positive number.
    EXPECT_NEAR(head.eigenvalue_copying, induction ? 1 : 0, 1e-6);
    EXPECT_EQ(head.prefix_matching.size(), 6);
  }
  // The patterns alone give the same, and say nothing of what is written.
  const auto patterns = MeasurePatterns(hand.model, hand.weights, Sequences());
  ASSERT_TRUE(patterns.ok()) << patterns.status();
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ((*patterns)[i].prefix_matching, (*heads)[i].prefix_matching);
    EXPECT_EQ((*patterns)[i].previous_by_position,
              (*heads)[i].previous_by_position);
    EXPECT_TRUE((*patterns)[i].copying.empty());
  }
  // By position: 1 everywhere.
  const TrainedHead& previous = (*heads)[kPreviousHead];
  ASSERT_EQ(previous.previous_by_position.size(), 17);
  for (const double score : previous.previous_by_position) {
    EXPECT_NEAR(score, 1, 1e-6);
  }
  // A head without queries attends evenly: to the token before by 1 / (i + 1).
  const TrainedHead& idle = (*heads)[1 - kPreviousHead];
  for (int64_t i = 1; i < 18; ++i) {
    EXPECT_NEAR(idle.previous_by_position[i - 1],
                1.0 / static_cast<double>(i + 1), 1e-6);
  }
}

// A head that writes the opposite of what it attends to anti-copies.
TEST(MeasureHeads, KnowsCopyingFromItsOpposite) {
  HandWeightedTransformer hand(10, 18);
  const auto w_o = hand.Parameter("blocks.1.attn.W_O");
  ForEachElement([](float& x) { x = -x; }, w_o);
  const auto heads = MeasureHeads(hand.model, hand.weights, Sequences());
  ASSERT_TRUE(heads.ok()) << heads.status();
  const TrainedHead& head = (*heads)[2 + kInductionHead];
  EXPECT_NEAR(Mean(head.copying), -1, 1e-6);
  EXPECT_NEAR(head.eigenvalue_copying, -1, 1e-6);
}

}  // namespace
}  // namespace softlookup
