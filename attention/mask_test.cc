#include "attention/mask.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/tensor/tensor.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

AttentionSizes Sizes(int64_t queries, int64_t keys) {
  return {.batch = 2,
          .query_heads = 6,
          .key_heads = 2,
          .queries = queries,
          .keys = keys,
          .width = 4,
          .value_width = 5};
}

// One line per query of batch entry b and head h: x where it may attend.
std::vector<std::string> Pattern(const AttentionMask& mask,
                                 const AttentionSizes& sizes, int64_t b = 0,
                                 int64_t h = 0) {
  std::vector<std::string> rows;
  for (int64_t i = 0; i < sizes.queries; ++i) {
    std::string row;
    for (int64_t j = 0; j < sizes.keys; ++j) {
      row += mask.Allows(b, h, i, j, sizes) ? 'x' : '.';
    }
    rows.push_back(row);
  }
  return rows;
}

using Rows = std::vector<std::string>;

TEST(AttentionSizes, GroupsOfQueryHeadsShareAKeyHead) {
  const AttentionSizes sizes = Sizes(3, 4);
  std::vector<int64_t> heads;
  for (int64_t h = 0; h < 6; ++h) heads.push_back(sizes.KeyHead(h));
  EXPECT_EQ(heads, (std::vector<int64_t>{0, 0, 0, 1, 1, 1}));
}

TEST(AttentionSizes, ScoreShape) {
  EXPECT_EQ(Sizes(3, 4).ScoreShape(), (Shape{2, 6, 3, 4}));
}

TEST(CausalAlignment, NamesAndBack) {
  EXPECT_EQ(CausalAlignmentName(CausalAlignment::kNone), "none");
  EXPECT_EQ(CausalAlignmentName(CausalAlignment::kTopLeft), "top_left");
  EXPECT_EQ(CausalAlignmentName(CausalAlignment::kBottomRight), "bottom_right");
  EXPECT_EQ(ParseCausalAlignment("none").value(), CausalAlignment::kNone);
  EXPECT_EQ(ParseCausalAlignment("top_left").value(),
            CausalAlignment::kTopLeft);
  EXPECT_EQ(ParseCausalAlignment("bottom_right").value(),
            CausalAlignment::kBottomRight);
}

TEST(CausalAlignment, UnknownNameListsTheAllowedOnes) {
  const absl::Status status = ParseCausalAlignment("upper").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "causal is \"upper\"; allowed: none, top_left, bottom_right");
}

TEST(AttentionMask, AllowsEverythingByDefault) {
  EXPECT_EQ(Pattern({}, Sizes(2, 3)), (Rows{"xxx", "xxx"}));
}

TEST(AttentionMask, CausalSquare) {
  for (const CausalAlignment alignment :
       {CausalAlignment::kTopLeft, CausalAlignment::kBottomRight}) {
    AttentionMask mask;
    mask.causal = alignment;
    EXPECT_EQ(Pattern(mask, Sizes(3, 3)), (Rows{"x..", "xx.", "xxx"}));
  }
}

TEST(AttentionMask, CausalMoreKeysThanQueries) {
  AttentionMask mask;
  mask.causal = CausalAlignment::kTopLeft;
  EXPECT_EQ(Pattern(mask, Sizes(2, 4)), (Rows{"x...", "xx.."}));
  mask.causal = CausalAlignment::kBottomRight;
  EXPECT_EQ(Pattern(mask, Sizes(2, 4)), (Rows{"xxx.", "xxxx"}));
}

TEST(AttentionMask, CausalMoreQueriesThanKeys) {
  AttentionMask mask;
  mask.causal = CausalAlignment::kTopLeft;
  EXPECT_EQ(Pattern(mask, Sizes(4, 2)), (Rows{"x.", "xx", "xx", "xx"}));
  mask.causal = CausalAlignment::kBottomRight;
  EXPECT_EQ(Pattern(mask, Sizes(4, 2)), (Rows{"..", "..", "x.", "xx"}));
}

TEST(AttentionMask, KeyLengthsPadOnTheRightPerBatchEntry) {
  const std::vector<int64_t> lengths = {3, 0};
  AttentionMask mask;
  mask.key_lengths = lengths;
  EXPECT_EQ(Pattern(mask, Sizes(1, 4), 0), (Rows{"xxx."}));
  EXPECT_EQ(Pattern(mask, Sizes(1, 4), 1), (Rows{"...."}));
}

TEST(AttentionMask, KeyStartsPadOnTheLeftPerBatchEntry) {
  const std::vector<int64_t> starts = {1, 4};
  AttentionMask mask;
  mask.key_starts = starts;
  EXPECT_EQ(Pattern(mask, Sizes(1, 4), 0), (Rows{".xxx"}));
  EXPECT_EQ(Pattern(mask, Sizes(1, 4), 1), (Rows{"...."}));
}

TEST(AttentionMask, CausalAlignmentIgnoresLengths) {
  const std::vector<int64_t> lengths = {2, 2};
  AttentionMask mask;
  mask.causal = CausalAlignment::kBottomRight;
  mask.key_lengths = lengths;
  EXPECT_EQ(Pattern(mask, Sizes(2, 4)), (Rows{"xx..", "xx.."}));
}

TEST(AttentionMask, AllowedOfFullShape) {
  const AttentionSizes sizes = Sizes(2, 3);
  for (int64_t b = 0; b < 2; ++b) {
    for (int64_t h = 0; h < 6; ++h) {
      Tensor<uint8_t> allowed(sizes.ScoreShape());
      allowed(b, h, 1, 2) = 1;
      AttentionMask mask;
      mask.allowed = allowed.view();
      EXPECT_EQ(Pattern(mask, sizes, b, h), (Rows{"...", "..x"}));
      EXPECT_EQ(Pattern(mask, sizes, 1 - b, h), (Rows{"...", "..."}));
      EXPECT_EQ(Pattern(mask, sizes, b, (h + 1) % 6), (Rows{"...", "..."}));
    }
  }
}

TEST(AttentionMask, AllowedBroadcastsOverEachAxis) {
  const AttentionSizes sizes = Sizes(2, 3);
  const Tensor<uint8_t> by_batch({2, 1, 1, 1}, {0, 1});
  const Tensor<uint8_t> by_head({1, 6, 1, 1}, {0, 0, 0, 0, 0, 1});
  const Tensor<uint8_t> by_query({1, 1, 2, 1}, {0, 1});
  const Tensor<uint8_t> by_key({1, 1, 1, 3}, {1, 0, 1});
  AttentionMask mask;
  mask.allowed = by_batch.view();
  EXPECT_EQ(Pattern(mask, sizes, 0, 0), (Rows{"...", "..."}));
  EXPECT_EQ(Pattern(mask, sizes, 1, 5), (Rows{"xxx", "xxx"}));
  mask.allowed = by_head.view();
  EXPECT_EQ(Pattern(mask, sizes, 1, 4), (Rows{"...", "..."}));
  EXPECT_EQ(Pattern(mask, sizes, 1, 5), (Rows{"xxx", "xxx"}));
  mask.allowed = by_query.view();
  EXPECT_EQ(Pattern(mask, sizes, 1, 5), (Rows{"...", "xxx"}));
  mask.allowed = by_key.view();
  EXPECT_EQ(Pattern(mask, sizes, 1, 5), (Rows{"x.x", "x.x"}));
}

TEST(AttentionMask, RestrictionsCombine) {
  // The chapter's padded batch: causal, and the second sequence ends in two
  // pads.
  const std::vector<int64_t> lengths = {5, 3};
  AttentionMask mask;
  mask.causal = CausalAlignment::kTopLeft;
  mask.key_lengths = lengths;
  const AttentionSizes sizes = Sizes(5, 5);
  EXPECT_EQ(Pattern(mask, sizes, 0),
            (Rows{"x....", "xx...", "xxx..", "xxxx.", "xxxxx"}));
  EXPECT_EQ(Pattern(mask, sizes, 1),
            (Rows{"x....", "xx...", "xxx..", "xxx..", "xxx.."}));
  const std::vector<int64_t> starts = {2, 0};
  mask.key_starts = starts;
  EXPECT_EQ(Pattern(mask, sizes, 0),
            (Rows{".....", ".....", "..x..", "..xx.", "..xxx"}));
  const Tensor<uint8_t> allowed({1, 1, 1, 5}, {1, 1, 1, 0, 1});
  mask.allowed = allowed.view();
  EXPECT_EQ(Pattern(mask, sizes, 0),
            (Rows{".....", ".....", "..x..", "..x..", "..x.x"}));
}

TEST(AttentionMaskCheck, AcceptsTheExtremes) {
  const AttentionSizes sizes = Sizes(3, 4);
  const std::vector<int64_t> extremes = {0, 4};
  const Tensor<uint8_t> full(sizes.ScoreShape());
  const Tensor<uint8_t> one({1, 1, 1, 1});
  AttentionMask mask;
  EXPECT_TRUE(mask.Check(sizes).ok());
  mask.key_lengths = extremes;
  mask.key_starts = extremes;
  mask.allowed = full.view();
  EXPECT_TRUE(mask.Check(sizes).ok()) << mask.Check(sizes);
  mask.allowed = one.view();
  EXPECT_TRUE(mask.Check(sizes).ok()) << mask.Check(sizes);
}

void ExpectError(const AttentionMask& mask, const std::string& message) {
  const absl::Status status = mask.Check(Sizes(3, 4));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), message);
}

TEST(AttentionMaskCheck, NamesAMaskThatDoesNotBroadcast) {
  AttentionMask mask;
  const Tensor<uint8_t> wrong({2, 1, 3, 3});
  mask.allowed = wrong.view();
  ExpectError(mask,
              "mask has shape [2, 1, 3, 3]; allowed: rank 4, each dimension 1 "
              "or that of [B, H, Tq, Tk] = [2, 6, 3, 4]");
  const Tensor<uint8_t> flat({3, 4});
  mask.allowed = flat.view();
  ExpectError(mask,
              "mask has shape [3, 4]; allowed: rank 4, each dimension 1 or "
              "that of [B, H, Tq, Tk] = [2, 6, 3, 4]");
}

TEST(AttentionMaskCheck, NamesLengthsOfTheWrongCount) {
  const std::vector<int64_t> three = {1, 1, 1};
  AttentionMask mask;
  mask.key_lengths = three;
  ExpectError(mask,
              "key_lengths has 3 entries; allowed: one per batch element, "
              "B = 2");
  mask.key_lengths = {};
  mask.key_starts = absl::MakeSpan(three).first(1);
  ExpectError(mask,
              "key_starts has 1 entries; allowed: one per batch element, "
              "B = 2");
}

TEST(AttentionMaskCheck, NamesTheEntryOutOfRange) {
  const std::vector<int64_t> over = {4, 5};
  const std::vector<int64_t> negative = {-1, 0};
  AttentionMask mask;
  mask.key_lengths = over;
  ExpectError(mask, "key_lengths[1] is 5; allowed: 0 to Tk = 4");
  mask.key_lengths = negative;
  ExpectError(mask, "key_lengths[0] is -1; allowed: 0 to Tk = 4");
  mask.key_lengths = {};
  mask.key_starts = over;
  ExpectError(mask, "key_starts[1] is 5; allowed: 0 to Tk = 4");
}

}  // namespace
}  // namespace softlookup
