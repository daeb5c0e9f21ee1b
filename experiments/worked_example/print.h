// The worked example's results in the order of a blackboard.
//
//   std::fputs(DescribeWorkedExample(run.results).c_str(), stdout);
#ifndef SOFTLOOKUP_EXPERIMENTS_WORKED_EXAMPLE_PRINT_H_
#define SOFTLOOKUP_EXPERIMENTS_WORKED_EXAMPLE_PRINT_H_

#include <string>

#include "base/json.h"

namespace softlookup {

// Tables and a sentence for each; `results` are those of the experiment
// worked_example.
std::string DescribeWorkedExample(const Json& results);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_WORKED_EXAMPLE_PRINT_H_
