// Judges a results file against the ledger.
//
//   judge --ledger=claims.json --results=soft_lookup.json
//         [--verified=soft_lookup.verified.json]
//
// Prints the verdicts, or, when every one is as expected and a verified file
// is asked for, writes that instead: the results with their claims. Otherwise
// exits with 1 and names each claim, its published value and ours.
#include <cstdio>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/json.h"
#include "base/program.h"
#include "base/status.h"
#include "ledger/claims.h"
#include "ledger/judgement.h"
#include "ledger/results_file.h"

ABSL_FLAG(std::string, ledger, "", "The ledger of claims.");
ABSL_FLAG(std::string, results, "", "The results file of an experiment.");
ABSL_FLAG(std::string, verified, "", "Where to write the verified results.");

namespace softlookup {
namespace {

absl::Status Run() {
  const std::string ledger_path = ResolveUserPath(absl::GetFlag(FLAGS_ledger));
  const std::string results_path =
      ResolveUserPath(absl::GetFlag(FLAGS_results));
  if (ledger_path.empty() || results_path.empty()) {
    return absl::InvalidArgumentError("--ledger and --results must be given");
  }
  SOFTLOOKUP_ASSIGN_OR_RETURN(const std::vector<Claim> ledger,
                              ReadLedger(ledger_path));
  SOFTLOOKUP_ASSIGN_OR_RETURN(Json file, ReadResultsFile(results_path));
  const std::string experiment = file["experiment"].get<std::string>();
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const std::vector<Judgement> judgements,
      JudgeExperiment(ledger, experiment, file["results"]));
  if (judgements.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the ledger has no claim on experiment ", experiment));
  }
  const absl::Status status = CheckJudgements(judgements);
  const std::string verified = ResolveUserPath(absl::GetFlag(FLAGS_verified));
  if (!status.ok() || verified.empty()) {
    std::fputs(JudgementTable(judgements).c_str(), stdout);
    return status;
  }
  file["claims"] = JudgementsToJson(judgements);
  return WriteFileAtomically(verified, DumpJson(file));
}

}  // namespace
}  // namespace softlookup

int main(int argc, char** argv) {
  return softlookup::RunProgram(
      argc, argv, "Judges a results file against the ledger of claims.",
      softlookup::Run);
}
