#include "experiments/permutation/reordering.h"

#include <cmath>
#include <string>

#include "base/random/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

using ::testing::ElementsAre;

constexpr double kUnit = 0x1p-53;  // the rounding unit of double

// Reordering 3 to 5 tokens reorders the sums of their exponentials and of
// their weighted values: fewer than 16 roundings relative to the values.
constexpr double kTolerance = 16 * kUnit;

TEST(Reordering, SetDistance) {
  const Tensor<double> a({2, 2}, {0, 0, 1, 2});
  EXPECT_EQ(SetDistance(a, Tensor<double>({2, 2}, {1, 2, 0, 0})), 0.0);
  EXPECT_EQ(SetDistance(a, Tensor<double>({2, 2}, {1, 2, 1, 2})), 2.0);
  EXPECT_EQ(SetDistance(Tensor<double>({2, 2}, {1, 2, 1, 2}), a), 2.0);
  EXPECT_EQ(SetDistance(a, Tensor<double>({2, 2}, {0, 0, 1, 2.5})), 0.5);
  for (int n = 0; n < 4; ++n) {
    Tensor<double> broken = a;
    broken[n] = std::nan("");
    EXPECT_TRUE(std::isnan(SetDistance(a, broken))) << n;
    EXPECT_TRUE(std::isnan(SetDistance(broken, a))) << n;
  }
}

TEST(Reordering, Sentences) {
  const SentencesResults found =
      MeasureSentences({.draws = 200, .seed = 8}).value();
  EXPECT_THAT(found.first, ElementsAre("压力", "超过", "限值"));
  EXPECT_THAT(found.second, ElementsAre("限值", "超过", "压力"));
  using OfVariant = SentencesResults::OfVariant;
  const OfVariant& none = found.variants[Variant::kNoPositions];
  for (const auto effect :
       {&OfVariant::own_output_difference, &OfVariant::weight_difference,
        &OfVariant::set_distance}) {
    EXPECT_LE((none.*effect).largest, kTolerance);
    for (const Variant broken : {Variant::kCausal, Variant::kPositions}) {
      EXPECT_GT((found.variants[broken].*effect).smallest, 1e-4);
    }
  }
  // The outputs really move: what was first is last.
  for (int c = 0; c < 2; ++c) {
    EXPECT_NEAR(none.outputs_of_first(0, c), none.outputs_of_second(2, c),
                8 * kTolerance);
  }
  EXPECT_GT(
      std::abs(none.outputs_of_first(0, 0) - none.outputs_of_second(0, 0)),
      1e-3);
}

TEST(Reordering, AllOrders) {
  const AllOrdersResults found =
      MeasureAllOrders({.draws = 10, .seed = 8}, 5).value();
  // 5! - 1.
  EXPECT_EQ(found.orders_of_each_draw, 119);
  EXPECT_LE(found.moved[Variant::kNoPositions].largest, kTolerance);
  EXPECT_GT(found.moved[Variant::kCausal].smallest, 1e-4);
  EXPECT_GT(found.moved[Variant::kPositions].smallest, 1e-4);
}

// Each input in turn, and the deviations that depend on it: the weights on all
// but the values' projection.
TEST(Reordering, NoNaNGetsLost) {
  RandomStream stream(5, "reordering_test");
  const Tensor<double> tokens = DrawTokens(stream, 3);
  const Layer layer = DrawLayer(stream);
  constexpr bool kToo = true;
  const struct {
    std::string input;
    Tensor<double> Layer::*matrix;  // null: the tokens
    bool weights;
  } inputs[] = {{"tokens", nullptr, kToo},
                {"W_Q", &Layer::query_matrix, kToo},
                {"W_K", &Layer::key_matrix, kToo},
                {"W_V", &Layer::value_matrix, !kToo}};
  for (const auto& [input, matrix, weights] : inputs) {
    const int64_t size = matrix ? (layer.*matrix).size() : tokens.size();
    for (int64_t n = 0; n < size; ++n) {
      Tensor<double> poisoned_tokens = tokens;
      Layer poisoned_layer = layer;
      (matrix ? poisoned_layer.*matrix : poisoned_tokens)[n] = std::nan("");
      for (const Variant variant : kVariants) {
        SCOPED_TRACE(testing::Message() << input << "[" << n << "], variant "
                                        << static_cast<int>(variant));
        const OrderEffect effect =
            CompareOrders(poisoned_layer, variant, poisoned_tokens, {2, 1, 0})
                .value();
        EXPECT_FALSE(std::isfinite(effect.moved));
        EXPECT_FALSE(std::isfinite(effect.set));
        EXPECT_EQ(std::isfinite(effect.weights), !weights);
      }
    }
  }
}

}  // namespace
}  // namespace softlookup
