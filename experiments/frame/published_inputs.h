// The files that an experiment's published run reads, made by other programs
// in the build.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(
//       const std::vector<std::string> paths,
//       PublishedInputs({"experiments/induction_sweep/induction_seed_1.json"}));
//
// A person who runs the program finds them among its runfiles; the build, which
// has none, names them by --inputs.
#ifndef SOFTLOOKUP_EXPERIMENTS_FRAME_PUBLISHED_INPUTS_H_
#define SOFTLOOKUP_EXPERIMENTS_FRAME_PUBLISHED_INPUTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace softlookup {

// Their paths, in the order of `runfiles`. NotFound where there is no such
// file, InvalidArgument for --inputs of another number.
absl::StatusOr<std::vector<std::string>> PublishedInputs(
    const std::vector<std::string>& runfiles);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_FRAME_PUBLISHED_INPUTS_H_
