// All that soft_lookup finds, and how its results file is laid out.
#ifndef SOFTLOOKUP_EXPERIMENTS_SOFT_LOOKUP_RESULTS_H_
#define SOFTLOOKUP_EXPERIMENTS_SOFT_LOOKUP_RESULTS_H_

#include "base/json.h"
#include "experiments/soft_lookup/historical_scores.h"
#include "experiments/soft_lookup/lookup_answers.h"
#include "experiments/soft_lookup/lookup_learning.h"
#include "experiments/soft_lookup/lookup_slopes.h"
#include "experiments/soft_lookup/lookup_table.h"

namespace softlookup {

struct SoftLookupResults {
  HistoricalScoresResults historical_scores;
  LookupTable table;
  HardAnswers hard;
  SoftAnswers soft;
  FactorResults factor;
  OverflowResults overflow;
  SlopeResults slopes;
  PathResults path;
  LookupLearningResults learning;
};

// {"alignment" (the historical scores), "entries" (the table), "hard", "soft",
// "factor", "overflow", "gradients" (the slopes), "path", "learning"}.
Json ToJson(const SoftLookupResults& results);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_SOFT_LOOKUP_RESULTS_H_
