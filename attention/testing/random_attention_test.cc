#include "attention/testing/random_attention.h"

#include <limits>
#include <map>
#include <set>

#include "gtest/gtest.h"

namespace softlookup {
namespace {

constexpr uint64_t kSeed = 5;

TEST(DrawAttentionCase, EveryCaseIsValid) {
  RandomStream stream(kSeed, "random_attention_test");
  for (int n = 0; n < 1000; ++n) {
    const AttentionCase<double> drawn = DrawAttentionCase(stream);
    const absl::StatusOr<AttentionSizes> sizes = CheckAttentionBackward(
        drawn.inputs(), drawn.options, drawn.output_gradient.view());
    ASSERT_TRUE(sizes.ok()) << sizes.status() << Describe(drawn);
    ASSERT_EQ(sizes->ScoreShape(), drawn.sizes.ScoreShape());
    ASSERT_EQ(sizes->width, drawn.sizes.width);
    ASSERT_EQ(sizes->value_width, drawn.sizes.value_width);
    ASSERT_EQ(sizes->key_heads, drawn.sizes.key_heads);
  }
}

TEST(DrawAttentionCase, CoversEveryKind) {
  // What the property tests rely on being drawn, and how often at least.
  RandomStream stream(kSeed, "random_attention_test");
  std::map<std::string, int> seen;
  std::set<Shape> mask_broadcasts;
  const AttentionLimits limits;
  for (int n = 0; n < 1000; ++n) {
    const AttentionCase<double> drawn = DrawAttentionCase(stream, limits);
    const AttentionSizes& sizes = drawn.sizes;
    ++seen["causal " + CausalAlignmentName(drawn.causal)];
    seen["mask"] += drawn.allowed.has_value();
    seen["bias"] += drawn.bias.has_value();
    seen["lengths"] += !drawn.key_lengths.empty();
    seen["starts"] += !drawn.key_starts.empty();
    seen["scale"] += drawn.options.scale.has_value();
    seen["negative scale"] += drawn.options.scale.value_or(0) < 0;
    seen["grouped"] += sizes.query_heads > sizes.key_heads;
    seen["several key heads"] += sizes.key_heads > 1;
    seen["fewer queries"] += sizes.queries < sizes.keys;
    seen["more queries"] += sizes.queries > sizes.keys;
    seen["other value width"] += sizes.width != sizes.value_width;
    seen["largest"] +=
        sizes.batch == limits.batch && sizes.queries == limits.positions;
    bool fully_masked = false;
    bool complete = true;
    for (int64_t i = 0; i < sizes.queries; ++i) {
      bool any = false;
      for (int64_t j = 0; j < sizes.keys; ++j) {
        const bool visible = drawn.Visible(0, 0, i, j);
        any |= visible;
        complete &= visible;
      }
      fully_masked |= !any;
    }
    seen["fully masked row"] += fully_masked;
    seen["nothing masked"] += complete;
    if (drawn.bias.has_value()) {
      bool masks = false;
      for (const double element : drawn.bias->elements()) {
        masks |= element == -std::numeric_limits<double>::infinity();
      }
      seen["bias of -inf"] += masks;
    }
    if (drawn.allowed.has_value()) {
      Shape full;
      for (int axis = 0; axis < 4; ++axis) {
        full.push_back(drawn.allowed->dim(axis) != 1);
      }
      mask_broadcasts.insert(full);
    }
  }
  EXPECT_EQ(mask_broadcasts.size(), 16u);
  EXPECT_EQ(seen.size(), 18u);
  for (const auto& [kind, count] : seen) EXPECT_GE(count, 50) << kind;
}

TEST(AttentionCase, VisibleByHand) {
  AttentionCase<double> example;
  example.sizes = {.batch = 1,
                   .query_heads = 1,
                   .key_heads = 1,
                   .queries = 2,
                   .keys = 4,
                   .width = 1,
                   .value_width = 1};
  const auto row = [&example](int64_t i) {
    std::string text;
    for (int64_t j = 0; j < 4; ++j) {
      text += example.Visible(0, 0, i, j) ? 'x' : '.';
    }
    return text;
  };
  EXPECT_EQ(row(0), "xxxx");
  example.causal = CausalAlignment::kBottomRight;
  EXPECT_EQ(row(0), "xxx.");
  EXPECT_EQ(row(1), "xxxx");
  example.key_starts = {1};
  EXPECT_EQ(row(0), ".xx.");
  example.key_lengths = {3};
  EXPECT_EQ(row(1), ".xx.");
  example.allowed = Tensor<uint8_t>({1, 1, 1, 4}, {1, 0, 1, 1});
  EXPECT_EQ(row(1), "..x.");
  example.causal = CausalAlignment::kTopLeft;
  EXPECT_EQ(row(1), "....");
  example.key_starts = {};
  EXPECT_EQ(row(1), "x...");
  example.bias = Tensor<double>(
      {1, 1, 2, 1}, {0.0, -std::numeric_limits<double>::infinity()});
  EXPECT_EQ(row(0), "x...");
  EXPECT_EQ(row(1), "....");
}

TEST(Describe, NamesWhatIsThere) {
  RandomStream stream(kSeed, "random_attention_test");
  AttentionCase<double> drawn = DrawAttentionCase(stream);
  drawn.allowed = Tensor<uint8_t>({1, 1, 1, 2}, {0, 1});
  drawn.bias = Tensor<double>({1, 1, 1, 1}, {0.5});
  drawn.key_lengths = {3};
  drawn.key_starts = {1};
  const std::string text = Describe(drawn);
  for (const char* part :
       {"query [", "causal=", "scale=", " mask [1, 1, 1, 2] {0 1}",
        " bias [1, 1, 1, 1] {0.5}", " key_lengths [3]", " key_starts [1]"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  }
}

}  // namespace
}  // namespace softlookup
