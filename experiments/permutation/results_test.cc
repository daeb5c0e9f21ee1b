#include "experiments/permutation/results.h"

#include <cmath>

#include "gtest/gtest.h"

namespace softlookup {
namespace {

TEST(PermutationResults, EveryNumberStandsWhereItsNameSays) {
  PermutationResults results;
  results.sentences = MeasureSentences({.draws = 1, .seed = 1}).value();
  auto& causal = results.sentences.variants[Variant::kCausal];
  causal.outputs_of_first = Tensor<double>({1, 2}, {1, 2});
  causal.weight_difference = {0.25, 0.125, std::nan("")};
  results.all_orders.moved[Variant::kPositions] = {3, 2, 4};
  results.influence.effects.recurrent_on_last = {6, 5, 7};
  results.influence.effects.position_wise_on_others = {9, 8, 10};
  const Json json = ToJson(results);
  EXPECT_EQ(json["sentences"]["causal"]["outputs_of_first"].dump(),
            "[[1.0,2.0]]");
  EXPECT_EQ(json["sentences"]["causal"]["weight_difference"]["mean"], 0.25);
  EXPECT_TRUE(
      std::isnan(json["sentences"]["causal"]["weight_difference"]["range"][1]
                     .get<double>()));
  EXPECT_EQ(json["all_orders"]["positions"].dump(),
            "{\"mean\":3.0,\"range\":[2.0,4.0]}");
  EXPECT_EQ(json["influence"]["future_on_past"]["recurrent_on_last"].dump(),
            "{\"mean\":6.0,\"range\":[5.0,7.0]}");
  EXPECT_EQ(json["influence"]["one_token_on_others"]["position_wise"].dump(),
            "{\"mean\":9.0,\"range\":[8.0,10.0]}");
}

}  // namespace
}  // namespace softlookup
