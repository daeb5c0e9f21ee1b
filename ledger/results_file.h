// The results file of an experiment, and its judged form.
//
//   results file   {"experiment", "parameters", "results", "measurements",
//                   "provenance"}
//   verified file  the same with "claims", written only when every verdict is
//                  as expected
//
// Figures and the report read verified files only.
#ifndef SOFTLOOKUP_LEDGER_RESULTS_FILE_H_
#define SOFTLOOKUP_LEDGER_RESULTS_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "ledger/claims.h"

namespace softlookup {

// Compiler, instruction set and version of this program, and `threads`.
Json Provenance(int threads);

// Reads the ledger file. Errors name the file.
absl::StatusOr<std::vector<Claim>> ReadLedger(const std::string& path);

// Reads a results file. InvalidArgument, naming the file, when a member is
// missing or "experiment" is not a string.
absl::StatusOr<Json> ReadResultsFile(const std::string& path);

}  // namespace softlookup

#endif  // SOFTLOOKUP_LEDGER_RESULTS_FILE_H_
