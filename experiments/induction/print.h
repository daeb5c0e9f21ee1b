// The tables of the induction experiment.
#ifndef SOFTLOOKUP_EXPERIMENTS_INDUCTION_PRINT_H_
#define SOFTLOOKUP_EXPERIMENTS_INDUCTION_PRINT_H_

#include "experiments/frame/experiment.h"

namespace softlookup {

void PrintInduction(const ExperimentRun<Json>& run);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_INDUCTION_PRINT_H_
