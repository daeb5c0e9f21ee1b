#include "experiments/frame/experiment.h"

#include <chrono>
#include <cstdio>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/file.h"
#include "base/program.h"
#include "base/runfiles.h"
#include "base/status.h"
#include "experiments/frame/experiment_parameters.h"
#include "ledger/claims.h"
#include "ledger/judgement.h"
#include "ledger/results_file.h"

ABSL_FLAG(std::string, output, "softlookup_out",
          "Directory for the results file, relative to where you are.");
ABSL_FLAG(bool, judge, true,
          "Judge the results against the ledger of claims (only at the "
          "published parameters).");

namespace softlookup {
namespace {

constexpr char kLedger[] = "testdata/claims.json";

void Print(const std::string& text) { std::fputs(text.c_str(), stdout); }

absl::Status Judge(const std::string& name, const Json& results) {
  const std::vector<std::string> changed = ChangedParameters(name);
  if (!changed.empty()) {
    Print(absl::StrCat("\nNot judged: ", absl::StrJoin(changed, " "),
                       changed.size() == 1 ? " is" : " are",
                       " not as published.\n"));
    return absl::OkStatus();
  }
  SOFTLOOKUP_ASSIGN_OR_RETURN(const std::string path, RunfilePath(kLedger));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const std::vector<Claim> ledger,
                              ReadLedger(path));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const std::vector<Judgement> judgements,
                              JudgeExperiment(ledger, name, results));
  if (judgements.empty()) {
    Print("\nNot judged: the ledger has no claim on this experiment.\n");
    return absl::OkStatus();
  }
  Print("\nClaims of the chapter:\n");
  Print(JudgementTable(judgements));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckJudgements(judgements));
  Print(judgements.size() == 1
            ? "\nThe one verdict is as the ledger has it.\n"
            : absl::StrCat("\nAll ", judgements.size(),
                           " verdicts are as the ledger has them.\n"));
  return absl::OkStatus();
}

absl::Status Run(
    const std::string& name, const std::string& question,
    const std::function<absl::StatusOr<internal::AnyRun>()>& measure) {
  const std::string directory = OutputDirectory();
  if (directory.empty()) {
    return absl::InvalidArgumentError("--output is empty; give a directory");
  }
  // Before the work, so that an unwritable place costs no run.
  SOFTLOOKUP_RETURN_IF_ERROR(MakeDirectories(directory));
  const std::string path = absl::StrCat(directory, "/", name, ".json");
  SOFTLOOKUP_RETURN_IF_ERROR(CheckWritable(path));
  Print(absl::StrCat(name, ": ", question, "\n\n"));
  std::fflush(stdout);  // before work that may take a while
  const auto start = std::chrono::steady_clock::now();
  SOFTLOOKUP_ASSIGN_OR_RETURN(internal::AnyRun run, measure());
  run.measurements["seconds"] =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  Json file;
  file["experiment"] = name;
  file["parameters"] = ParameterValues(name);
  file["results"] = run.results;
  file["measurements"] = run.measurements;
  file["provenance"] = Provenance(/*threads=*/1);
  file["provenance"].update(run.provenance);
  SOFTLOOKUP_RETURN_IF_ERROR(WriteFileAtomically(path, DumpJson(file)));
  run.written();
  // After the results are safe: a reader that goes away, such as head, ends the
  // program here.
  run.print();
  Print(absl::StrCat("\nResults: ", path, "\n"));
  if (!absl::GetFlag(FLAGS_judge)) return absl::OkStatus();
  return Judge(name, run.results);
}

}  // namespace

std::string OutputDirectory() {
  return ResolveUserPath(absl::GetFlag(FLAGS_output));
}

namespace internal {

int RunExperiment(int argc, char** argv, const std::string& name,
                  const std::string& question, const RenamedFlags& renamed,
                  const std::function<absl::StatusOr<AnyRun>()>& run) {
  return RunProgram(
      argc, argv, question, [&] { return Run(name, question, run); }, renamed);
}

}  // namespace internal
}  // namespace softlookup
