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
        {"own_output_difference", ToJson(found.own_output_difference)},
        {"weight_difference", ToJson(found.weight_difference)},
        {"set_distance", ToJson(found.set_distance)}};
  }
  return json;
}

Json ToJson(const AllOrdersResults& orders) {
  Json json = {{"length", orders.length},
               {"draws", orders.draws},
               {"orders_of_each_draw", orders.orders_of_each_draw}};
  for (const Variant v : kVariants) {
    json[NameOf(v)] = ToJson(orders.moved[v]);
  }
  return json;
}

Json ToJson(const InfluenceResults& influence) {
  const Influence<MeanAndRange>& effects = influence.effects;
  return {{"length", influence.length},
          {"draws", influence.draws},
          {"future_on_past",
           {{"recurrent", ToJson(effects.recurrent)},
            {"recurrent_on_last", ToJson(effects.recurrent_on_last)},
            {"attention_unmasked", ToJson(effects.attention_unmasked)},
            {"attention_causal", ToJson(effects.attention_causal)}}},
          {"one_token_on_others",
           {{"attention", ToJson(effects.attention_on_others)},
            {"position_wise", ToJson(effects.position_wise_on_others)}}}};
}

}  // namespace

Json ToJson(const PermutationResults& results) {
  return {{"sentences", ToJson(results.sentences)},
          {"all_orders", ToJson(results.all_orders)},
          {"influence", ToJson(results.influence)}};
}

}  // namespace softlookup
