#include "attention/textbook/padded_batch.h"

#include <vector>

#include "base/tensor/shape.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

TEST(PaddedBatch, RightPadding) {
  const PaddedBatch batch(5, 3, PaddingSide::kRight);
  EXPECT_EQ(batch.begin(), 0);
  EXPECT_EQ(batch.end(), 3);
  EXPECT_TRUE(batch.Real(0));
  EXPECT_TRUE(batch.Real(2));
  EXPECT_FALSE(batch.Real(3));
}

TEST(PaddedBatch, LeftPadding) {
  const PaddedBatch batch(5, 3, PaddingSide::kLeft);
  EXPECT_EQ(batch.begin(), 2);
  EXPECT_EQ(batch.end(), 5);
  EXPECT_FALSE(batch.Real(1));
  EXPECT_TRUE(batch.Real(2));
  EXPECT_TRUE(batch.Real(4));
  EXPECT_FALSE(batch.Real(5));
}

// The two ways to say it, by the operator's mask and as booleans, agree.
TEST(PaddedBatch, MaskAndBooleansAgree) {
  for (const PaddingSide side : {PaddingSide::kLeft, PaddingSide::kRight}) {
    for (const bool causal : {false, true}) {
      const PaddedBatch batch(4, 3, side);
      const BooleanMask boolean = batch.Boolean(causal);
      EXPECT_EQ(boolean.shape(),
                (causal ? Shape{2, 1, 4, 4} : Shape{2, 1, 1, 4}));
      AttentionMask mask;
      batch.Mask(mask);
      if (causal) mask.causal = CausalAlignment::kTopLeft;
      const AttentionSizes sizes = {2, 1, 1, 4, 4, 1, 1};
      for (int64_t b = 0; b < 2; ++b) {
        for (int64_t i = 0; i < 4; ++i) {
          for (int64_t j = 0; j < 4; ++j) {
            EXPECT_EQ(mask.Allows(b, 0, i, j, sizes),
                      boolean(b, 0, causal ? i : 0, j) != 0)
                << b << i << j;
          }
        }
      }
    }
  }
}

TEST(PaddedBatch, AloneTakesTheTokensOfTheShortSequence) {
  Tensor<double> x({2, 1, 3, 1}, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(Alone(x, PaddedBatch(3, 2, PaddingSide::kLeft)).elements(),
            (std::vector<double>{4, 5}));
  EXPECT_EQ(Alone(x, PaddedBatch(3, 2, PaddingSide::kRight)).elements(),
            (std::vector<double>{3, 4}));
}

}  // namespace
}  // namespace softlookup
