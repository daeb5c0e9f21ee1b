// All that permutation finds, and how its results file is laid out.
#ifndef SOFTLOOKUP_EXPERIMENTS_PERMUTATION_RESULTS_H_
#define SOFTLOOKUP_EXPERIMENTS_PERMUTATION_RESULTS_H_

#include "base/json.h"
#include "experiments/permutation/influence.h"
#include "experiments/permutation/reordering.h"

namespace softlookup {

struct PermutationResults {
  SentencesResults sentences;
  AllOrdersResults all_orders;
  InfluenceResults influence;
};

// {"sentences", "all_orders", "influence"}; the variants are "no_positions",
// "causal" and "positions".
Json ToJson(const PermutationResults& results);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_PERMUTATION_RESULTS_H_
