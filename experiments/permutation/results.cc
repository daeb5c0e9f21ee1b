#include "experiments/permutation/results.h"

#include "base/statistics/estimate.h"
#include "base/tensor/matrix.h"

namespace softlookup {
namespace {

const char* NameOf(Variant variant) {
  switch (variant) {
    case Variant::kNoPositions:
      return "no_positions";
    case Variant::kCausal:
      return "causal";
    case Variant::kPositions:
      break;
  }
  return "positions";
}

Json ToJson(const SentencesResults& sentences) {
  Json json = {{"draws", sentences.draws},
               {"first", sentences.first},
               {"second", sentences.second},
               {"translations", sentences.translations}};
  for (const Variant v : kVariants) {
    const auto& found = sentences.variants[v];
    json[NameOf(v)] = {
        {"outputs_of_first", NestedLists(found.outputs_of_first)},
        {"outputs_of_second", NestedLists(found.outputs_of_second)},
        {"own_output_difference",
         MeanAndRangeJson(found.own_output_difference)},
        {"weight_difference", MeanAndRangeJson(found.weight_difference)},
        {"set_distance", MeanAndRangeJson(found.set_distance)}};
  }
  return json;
}

Json ToJson(const AllOrdersResults& orders) {
  Json json = {{"length", orders.length},
               {"draws", orders.draws},
               {"orders_of_each_draw", orders.orders_of_each_draw}};
  for (const Variant v : kVariants) {
    json[NameOf(v)] = MeanAndRangeJson(orders.moved[v]);
  }
  return json;
}

Json ToJson(const InfluenceResults& influence) {
  const Influence<MeanAndRange>& effects = influence.effects;
  return {
      {"length", influence.length},
      {"draws", influence.draws},
      {"future_on_past",
       {{"recurrent", MeanAndRangeJson(effects.recurrent)},
        {"recurrent_on_last", MeanAndRangeJson(effects.recurrent_on_last)},
        {"attention_unmasked", MeanAndRangeJson(effects.attention_unmasked)},
        {"attention_causal", MeanAndRangeJson(effects.attention_causal)}}},
      {"one_token_on_others",
       {{"attention", MeanAndRangeJson(effects.attention_on_others)},
        {"position_wise", MeanAndRangeJson(effects.position_wise_on_others)}}}};
}

}  // namespace

Json ToJson(const PermutationResults& results) {
  return {{"sentences", ToJson(results.sentences)},
          {"all_orders", ToJson(results.all_orders)},
          {"influence", ToJson(results.influence)}};
}

}  // namespace softlookup
