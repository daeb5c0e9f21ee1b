#include "experiments/induction_print.h"

#include <cstdio>
#include <string>

#include "experiments/table.h"

namespace softlookup {

void PrintInduction(const ExperimentRun& run) {
  std::printf("%s\n", run.results["clean"].dump(1).c_str());
}

}  // namespace softlookup
