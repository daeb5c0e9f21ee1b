// The frame of every experiment: flags, run, results file, judgement.
//
// An experiment is a program that answers one question. Its source defines
// its knobs as Abseil flags whose defaults are the published run, a function
// that measures, and a function that prints what it measured:
//
//   ABSL_FLAG(int64_t, keys, 16, "Number of keys.");
//
//   int main(int argc, char** argv) {
//     return softlookup::ExperimentMain(
//         argc, argv,
//         {.name = "saturation",
//          .question = "How does the score scale decide the softmax?",
//          .run = Run, .print = Print});
//   }
//
// The frame writes DIR/NAME.json, {"experiment", "parameters", "results",
// "measurements", "provenance"}, where the parameters are the flags defined
// in the file NAME.cc. At the published parameters it then judges the results
// against the ledger and prints the verdicts. The experiment itself never sees
// a published value.
//
// Flags of the frame: --output=DIR (default: softlookup_out/ under the
// caller's directory), --judge (default true).
#ifndef SOFTLOOKUP_EXPERIMENTS_FRAME_EXPERIMENT_H_
#define SOFTLOOKUP_EXPERIMENTS_FRAME_EXPERIMENT_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "base/program.h"

namespace softlookup {

struct ExperimentRun {
  // What was found. Equal runs give equal results, byte for byte.
  Json results = Json::object();
  // Wall times and the like: they bear no claim.
  Json measurements = Json::object();
  // Added to the file's, which says how the program was made: the threads it
  // ran on and the like.
  Json provenance = Json::object();
  // Called when the results are written, to clear away what was kept in case
  // they would not be.
  std::function<void()> written = [] {};
};

struct Experiment {
  std::string name;      // the program's, and its source file's stem
  std::string question;  // shown by --help and above the output
  // Measures. InvalidArgument for a knob out of range, naming the flag.
  std::function<absl::StatusOr<ExperimentRun>()> run;
  // Prints tables of the results to stdout.
  std::function<void(const ExperimentRun&)> print;
  // Old names of flags, to be answered with the new ones.
  RenamedFlags renamed_flags = {};
};

// Where the results go: --output, as an absolute path or from where the
// program runs.
std::string OutputDirectory();

// Runs the experiment as described above and returns the exit code: 0; 1 when
// the run failed or a verdict differs from its standing (the results are
// still written); 2 for bad usage.
int ExperimentMain(int argc, char** argv, const Experiment& experiment);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_FRAME_EXPERIMENT_H_
