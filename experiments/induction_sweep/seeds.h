// What many runs of the induction experiment, each of its own seed, have in
// common.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(const Json results, SummarizeRuns(runs));
//
// A conclusion about such models is one over seeds: an error over the sequences
// of one model says nothing about the next.
#ifndef SOFTLOOKUP_EXPERIMENTS_INDUCTION_SWEEP_SEEDS_H_
#define SOFTLOOKUP_EXPERIMENTS_INDUCTION_SWEEP_SEEDS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "base/json.h"

namespace softlookup {

// When a model has formed the circuit: it continues repeats, it cannot without
// its previous-token head, and it can without any other head of that layer.
struct CircuitCriterion {
  double accuracy = 0.9;       // at least, as it is
  double without_head = 0.5;   // at most, without the previous-token head
  double without_other = 0.9;  // at least, without any other of its layer
};

// A share k of n with the 95 % interval of Wilson (1927):
// {"count", "of", "share", "interval"}. n >= 1.
Json ShareJson(int64_t count, int64_t of);

// `runs` are results files of the induction experiment. {"runs": [{"seed",
// "accuracy", "formed", ...}], "formed": share, "formed_with_other": share of
// those that meet the criterion with the roles of the layer's heads exchanged,
// and estimates over the runs of what they have in common}. InvalidArgument for
// fewer than two runs, a file of another experiment or without an expected
// member, runs that differ in anything but the seed and the controls, and a
// seed that comes twice.
absl::StatusOr<Json> SummarizeRuns(const std::vector<Json>& runs,
                                   const CircuitCriterion& criterion = {});

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_INDUCTION_SWEEP_SEEDS_H_
