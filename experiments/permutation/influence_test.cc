#include "experiments/permutation/influence.h"

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace softlookup {
namespace {

TEST(Influence, OnlyThroughAttentionAndOnlyForwardUnderTheMask) {
  const Influence<MeanAndRange> effects =
      MeasureInfluence({.draws = 200, .seed = 8}, 6).value().effects;
  EXPECT_EQ(effects.recurrent.largest, 0.0);
  EXPECT_GT(effects.recurrent_on_last.smallest, 0.01);
  EXPECT_EQ(effects.attention_causal.largest, 0.0);
  EXPECT_GT(effects.attention_unmasked.smallest, 1e-3);
  EXPECT_EQ(effects.position_wise_on_others.largest, 0.0);
  EXPECT_GT(effects.attention_on_others.smallest, 1e-3);
}

// Each input in turn, and the effects that depend on it. Of the replaced token
// itself and of the token that replaces it, only what can reach other rows.
TEST(Influence, NoNaNGetsLost) {
  using One = Influence<double>;
  const std::vector<double One::*> all = {
      &One::recurrent,           &One::recurrent_on_last,
      &One::attention_unmasked,  &One::attention_causal,
      &One::attention_on_others, &One::position_wise_on_others};
  const std::vector<double One::*> attended = {&One::attention_unmasked,
                                               &One::attention_causal,
                                               &One::attention_on_others};
  std::vector<double One::*> of_values = attended;
  of_values.push_back(&One::position_wise_on_others);
  const struct {
    std::string name;
    std::function<double&(InfluenceInputs&)> input;
    std::vector<double One::*> dependent;
  } cases[] = {
      {"a token", [](InfluenceInputs& x) -> double& { return x.tokens(1, 3); },
       all},
      {"W_Q",
       [](InfluenceInputs& x) -> double& { return x.layer.query_matrix[5]; },
       attended},
      {"W_K",
       [](InfluenceInputs& x) -> double& { return x.layer.key_matrix[5]; },
       attended},
      {"W_V",
       [](InfluenceInputs& x) -> double& { return x.layer.value_matrix[5]; },
       of_values},
      {"W",
       [](InfluenceInputs& x) -> double& { return x.in[5]; },
       {&One::recurrent, &One::recurrent_on_last}},
      {"U",
       [](InfluenceInputs& x) -> double& { return x.recurrent[5]; },
       {&One::recurrent, &One::recurrent_on_last}},
      {"the other token",
       [](InfluenceInputs& x) -> double& { return x.other[3]; },
       {&One::recurrent_on_last, &One::attention_unmasked,
        &One::attention_on_others}}};
  RandomStream stream(5, "influence_test");
  const InfluenceInputs inputs = DrawInfluence(stream, 4);
  for (const auto& [name, input, dependent] : cases) {
    InfluenceInputs poisoned = inputs;
    input(poisoned) = std::nan("");
    const One found = InfluenceOf(poisoned).value();
    for (size_t n = 0; n < dependent.size(); ++n) {
      EXPECT_FALSE(std::isfinite(found.*dependent[n])) << name << " " << n;
    }
  }
}

}  // namespace
}  // namespace softlookup
