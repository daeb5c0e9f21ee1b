#include "attention/textbook/boolean_mask.h"

#include <vector>

#include "base/tensor/shape.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

using Bits = std::vector<uint8_t>;

TEST(CausalMask, AllowsTheDiagonalAndBelow) {
  const BooleanMask mask = CausalMask(3);
  EXPECT_EQ(mask.shape(), (Shape{3, 3}));
  EXPECT_EQ(mask.elements(), (Bits{1, 0, 0, 1, 1, 0, 1, 1, 1}));
}

TEST(RealPositions, PadsEitherSide) {
  EXPECT_EQ(RealPositions({5, 3}, 5, PaddingSide::kRight).elements(),
            (Bits{1, 1, 1, 1, 1, 1, 1, 1, 0, 0}));
  EXPECT_EQ(RealPositions({5, 3}, 5, PaddingSide::kLeft).elements(),
            (Bits{1, 1, 1, 1, 1, 0, 0, 1, 1, 1}));
  EXPECT_EQ(RealPositions({0}, 2, PaddingSide::kRight).elements(),
            (Bits{0, 0}));
}

TEST(LogicalAnd, BroadcastsAsTheListingDoes) {
  const BooleanMask real = RealPositions({3, 2}, 3, PaddingSide::kRight);
  const BooleanMask pad = OverHeadsAndQueries(real);
  EXPECT_EQ(pad.shape(), (Shape{2, 1, 1, 3}));
  const auto mask = LogicalAnd(CausalMask(3), pad);
  ASSERT_TRUE(mask.ok()) << mask.status();
  EXPECT_EQ(mask->shape(), (Shape{2, 1, 3, 3}));
  EXPECT_EQ(mask->elements(), (Bits{1, 0, 0, 1, 1, 0, 1, 1, 1,  //
                                    1, 0, 0, 1, 1, 0, 1, 1, 0}));
  EXPECT_EQ(CountTrue(*mask), 11);
  // The order of the arguments does not matter.
  EXPECT_EQ(LogicalAnd(pad, CausalMask(3))->elements(), mask->elements());
}

TEST(LogicalAnd, RefusesSizesThatDiffer) {
  const auto mask = LogicalAnd(CausalMask(3), CausalMask(2));
  EXPECT_EQ(mask.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(mask.status().message(),
            "masks of shapes [3, 3] and [2, 2] do not broadcast; allowed: "
            "sizes, from the last, equal or 1");
}

}  // namespace
}  // namespace softlookup
