// All that the experiment finds, and its results file.
//
//   run.results.scan = MeasureScan(DrawScanInputs(options));
//   Json json = ToJson(run.results);
//   json["scan"]["rounds_of_the_scan"]
#ifndef SOFTLOOKUP_EXPERIMENTS_LAYER_COST_RESULTS_H_
#define SOFTLOOKUP_EXPERIMENTS_LAYER_COST_RESULTS_H_

#include "base/json.h"
#include "experiments/layer_cost/blocked_attention.h"
#include "experiments/layer_cost/counts.h"
#include "experiments/layer_cost/decode_memory.h"
#include "experiments/layer_cost/gradient_reach.h"
#include "experiments/layer_cost/mixing.h"

namespace softlookup {

struct LayerCostResults {
  CountResults costs;
  GradientResults gradient;
  LoopResults loop;
  MixingResults mixing;
  ScanResults scan;
  BlockResults blocks;
  DecodeMemory decode_memory;
};

// {
//   "costs": {"short", "long", "long_doubled", "below", "equal", "above" and
//     the rest of the table ("growth": {"recurrent_operations",
//     "attention_operations", "ratio"}), "run", "sequential", "path",
//     "path_curve", "curves": {width: [points]}},
//   "gradient", "loop", "mixing", "scan",
//   "blocks": {"whole", "blocked": [at T, at 2 T], "memory_growth",
//     "arithmetic_growth": {"whole", "blocked"}, ...},
//   "generation": the memory of decoding
// }
// with the members of the structs under their own names.
Json ToJson(const LayerCostResults& results);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_LAYER_COST_RESULTS_H_
