#include "interpretability/head_interventions.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/random/random.h"
#include "base/tensor/tensor.h"
#include "gtest/gtest.h"
#include "interpretability/hand_weighted_transformer.h"
#include "interpretability/repeated_sequences.h"

namespace softlookup {
namespace {

// Blocks without replacement, so that the hand-weighted model is never in
// doubt.
RepeatedSequences Sequences() {
  RandomStream stream(1, "head_interventions_test");
  return DrawRepeats(stream, {.batch = 16,
                              .positions = 18,
                              .vocabulary = 10,
                              .min_period = 4,
                              .max_period = 9});
}

double Value(const Json& estimate) { return estimate["value"].get<double>(); }

struct Fixture {
  Fixture() : hand(10, 18), sequences(Sequences()) {
    auto made = HeadInterventions::Make(hand.model, hand.weights, sequences);
    EXPECT_TRUE(made.ok()) << made.status();
    interventions = std::make_unique<HeadInterventions>(*std::move(made));
    pair = ChooseHeads(interventions->SingleHeads().value(), 2);
  }
  HandWeightedTransformer hand;
  RepeatedSequences sequences;
  std::unique_ptr<HeadInterventions> interventions;
  HeadPair pair;
};

TEST(HeadInterventions, FindsTheTwoHeadsWhereverTheyAre) {
  Fixture fixture;
  EXPECT_EQ(fixture.pair.previous_token, (HeadName{0, kPreviousHead}));
  EXPECT_EQ(fixture.pair.induction, (HeadName{1, kInductionHead}));
  const Json clean =
      fixture.interventions->EffectJson(fixture.interventions->clean());
  EXPECT_EQ(Value(clean["accuracy"]), 1);
  EXPECT_EQ(Value(clean["loss_increase"]), 0);
}

// Without the head nothing is known and the model guesses; heads that do
// nothing cost nothing. With patterns kept, only the induction head's own
// output counts.
TEST(HeadInterventions, OnlyTheTwoHeadsCount) {
  Fixture fixture;
  const Json heads = fixture.interventions->SingleHeads().value();
  ASSERT_EQ(heads.size(), 4);
  for (const Json& head : heads) {
    const HeadName name = {head["layer"].get<int64_t>(),
                           head["head"].get<int64_t>()};
    const bool previous = name == fixture.pair.previous_token;
    const bool induction = name == fixture.pair.induction;
    SCOPED_TRACE(head["layer"].dump() + "." + head["head"].dump());
    for (const std::string kind : {"zero", "mean", "resample"}) {
      if (previous || induction) {
        EXPECT_LT(Value(head[kind]["accuracy"]), 0.4) << kind;
        EXPECT_GT(Value(head[kind]["loss_increase"]), 1) << kind;
      } else {
        EXPECT_EQ(Value(head[kind]["accuracy"]), 1) << kind;
        EXPECT_NEAR(Value(head[kind]["loss_increase"]), 0, 1e-6) << kind;
      }
    }
    EXPECT_EQ(Value(head["pattern_preserving"]["accuracy"]) < 0.4, induction);
  }
  // An induction head that writes nothing leaves equal logits.
  const Json& zero = heads[2]["zero"];
  EXPECT_NEAR(Value(zero["repeat_loss"]), std::log(10.0), 1e-5);
}

TEST(HeadInterventions, WholeLayers) {
  Fixture fixture;
  const Json layers = fixture.interventions->Layers().value();
  ASSERT_EQ(layers.size(), 2);
  EXPECT_NEAR(Value(layers[1]["repeat_loss"]), std::log(10.0), 1e-5);
  EXPECT_LT(Value(layers[0]["accuracy"]), 0.4);
}

// The first head reaches the second by its keys and by nothing else.
TEST(HeadInterventions, ThePathIsTheKeys) {
  Fixture fixture;
  const Json paths = fixture.interventions->Paths(fixture.pair).value();
  EXPECT_LT(Value(paths["key"]["accuracy"]), 0.4);
  EXPECT_LT(Value(paths["key"]["prefix_matching"]), 0.3);
  for (const std::string path : {"query", "value"}) {
    EXPECT_EQ(Value(paths[path]["accuracy"]), 1) << path;
    EXPECT_NEAR(Value(paths[path]["loss_increase"]), 0, 1e-6) << path;
    EXPECT_NEAR(Value(paths[path]["prefix_matching"]), 1, 1e-6) << path;
  }
}

// The learned patterns are the ideal ones: they recover all of the loss.
TEST(HeadInterventions, IdealPatternsRecoverTheLoss) {
  Fixture fixture;
  const Json ideal = fixture.interventions->IdealPatterns(fixture.pair).value();
  for (const std::string kind : {"previous_token", "induction"}) {
    EXPECT_NEAR(ideal[kind]["recovered"].get<double>(), 1, 1e-6) << kind;
    EXPECT_LT(ideal[kind]["recovered_off"].get<double>(), 0.2) << kind;
    EXPECT_LT(Value(ideal[kind]["zero"]["accuracy"]), 0.4) << kind;
  }
}

TEST(HeadInterventions, AFrozenModelIsTheSumOfItsTerms) {
  Fixture fixture;
  const auto difference =
      ExpansionDifference(fixture.hand.model.config(), fixture.hand.weights,
                          fixture.sequences.tokens, 2);
  ASSERT_TRUE(difference.ok()) << difference.status();
  EXPECT_LT(*difference, 1e-14);

  // And with random weights, where every term is there.
  RandomStream stream(2, "head_interventions_test");
  std::vector<float> weights(fixture.hand.weights.size());
  for (float& w : weights) w = 0.2f * static_cast<float>(stream.Gaussian());
  const auto random = ExpansionDifference(fixture.hand.model.config(), weights,
                                          fixture.sequences.tokens, 2);
  ASSERT_TRUE(random.ok()) << random.status();
  EXPECT_LT(*random, 1e-13);
}

TEST(IdealPatterns, PreviousToken) {
  const Tensor<float> pattern = IdealDistance(2, 3, 1);
  for (int64_t b = 0; b < 2; ++b) {
    const std::vector<float> expected = {1, 0, 0, 1, 0, 0, 0, 1, 0};
    for (int64_t n = 0; n < 9; ++n) {
      EXPECT_EQ(pattern(b, n / 3, n % 3), expected[n]) << b << " " << n;
    }
  }
}

// A B A C A: the third position follows nothing but the first copy, the last
// one two.
TEST(IdealPatterns, Induction) {
  const Tensor<int32_t> tokens({1, 5}, {7, 8, 7, 9, 7});
  Tensor<float> own({1, 5, 5});
  for (int64_t i = 0; i < 5; ++i) own(0, i, i) = 0.25f;
  const Tensor<float> pattern = IdealCopies(tokens, 1, own);
  const std::vector<float> expected = {0.25f, 0,     0, 0,     0,  //
                                       0,     0.25f, 0, 0,     0,  //
                                       0,     1,     0, 0,     0,  //
                                       0,     0,     0, 0.25f, 0,  //
                                       0,     0.5f,  0, 0.5f,  0};
  EXPECT_EQ(pattern.elements(), expected);
}

TEST(IdealPatterns, OneTokenOff) {
  const Tensor<float> distance = IdealDistance(1, 4, 2);
  const std::vector<float> two_before = {1, 0, 0, 0, 1, 0, 0, 0,
                                         1, 0, 0, 0, 0, 1, 0, 0};
  EXPECT_EQ(distance.elements(), two_before);
  // A B A C A: two after the first copy is the third position, two after the
  // second the fifth.
  const Tensor<int32_t> tokens({1, 5}, {7, 8, 7, 9, 7});
  const Tensor<float> pattern =
      IdealCopies(tokens, 2, Tensor<float>({1, 5, 5}));
  const std::vector<float> expected = {0, 0, 0,    0, 0,  //
                                       0, 0, 0,    0, 0,  //
                                       0, 0, 1,    0, 0,  //
                                       0, 0, 0,    0, 0,  //
                                       0, 0, 0.5f, 0, 0.5f};
  EXPECT_EQ(pattern.elements(), expected);
}

}  // namespace
}  // namespace softlookup
