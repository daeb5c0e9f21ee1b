// An experiment's parameters: the flags defined in its own source file.
//
// They are found by reflection, so that a parameter cannot be forgotten in the
// results, and a run at other than the published values cannot be judged by
// mistake.
#ifndef SOFTLOOKUP_EXPERIMENTS_FRAME_EXPERIMENT_PARAMETERS_H_
#define SOFTLOOKUP_EXPERIMENTS_FRAME_EXPERIMENT_PARAMETERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/json.h"

namespace softlookup {

// {flag name: value}, by name, of the flags defined in a file whose stem is
// `source_stem`. Integers, doubles, booleans and strings keep their type.
Json ParameterValues(const std::string& source_stem);

// "--keys=8" for each of those flags whose value is not its default.
std::vector<std::string> ChangedParameters(const std::string& source_stem);

// InvalidArgument "--keys is 0; allowed: 1 to 4096" unless low <= value <=
// high.
absl::Status CheckParameter(const std::string& flag, int64_t value, int64_t low,
                            int64_t high);
// The same for a finite double.
absl::Status CheckParameter(const std::string& flag, double value, double low,
                            double high);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_FRAME_EXPERIMENT_PARAMETERS_H_
