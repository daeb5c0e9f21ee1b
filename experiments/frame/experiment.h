// The frame of every experiment: flags, run, results file, judgement.
//
// An experiment is a program that answers one question. Its source defines
// its parameters as Abseil flags whose defaults are the published run, a
// function that measures and returns a struct, and one that prints the struct:
//
//   ABSL_FLAG(int64_t, keys, 16, "Number of keys.");
//
//   absl::StatusOr<ExperimentRun<SaturationResults>> Run();
//   void Print(const ExperimentRun<SaturationResults>& run);
//
//   int main(int argc, char** argv) {
//     return softlookup::ExperimentMain<softlookup::SaturationResults>(
//         argc, argv,
//         {.name = "saturation",
//          .question = "How does the score scale decide the softmax?",
//          .run = softlookup::Run, .print = softlookup::Print});
//   }
//
// Beside the struct, in the experiment's results.h, stands
// `Json ToJson(const SaturationResults&)`: the only place that knows how its
// results file is laid out.
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
#include <utility>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "base/program.h"

namespace softlookup {

template <typename Results>
struct ExperimentRun {
  // What was found. Equal runs give equal results, byte for byte.
  Results results = {};
  // Wall times and the like: they bear no claim.
  Json measurements = Json::object();
  // Added to the file's, which says how the program was made: the threads it
  // ran on and the like.
  Json provenance = Json::object();
  // Called when the results are written, to clear away what was kept in case
  // they would not be.
  std::function<void()> written = [] {};
};

template <typename Results>
struct Experiment {
  std::string name;      // the program's, and its source file's stem
  std::string question;  // shown by --help and above the output
  // Measures. InvalidArgument for a parameter out of range, naming the flag.
  std::function<absl::StatusOr<ExperimentRun<Results>>()> run;
  // Prints tables of the results to stdout.
  std::function<void(const ExperimentRun<Results>&)> print;
  // Old names of flags, to be answered with the new ones.
  RenamedFlags renamed_flags = {};
};

// Where the results go: --output, as an absolute path or from where the
// program runs.
std::string OutputDirectory();

// Experiments whose results are Json already.
inline Json ToJson(const Json& results) { return results; }

namespace internal {

// A run whose struct is known to the functions in it alone.
struct AnyRun {
  Json results, measurements, provenance;
  std::function<void()> written, print;
};

int RunExperiment(int argc, char** argv, const std::string& name,
                  const std::string& question, const RenamedFlags& renamed,
                  const std::function<absl::StatusOr<AnyRun>()>& run);

}  // namespace internal

// Runs the experiment as described above and returns the exit code: 0; 1 when
// the run failed or a verdict differs from the expected one (the results are
// still written); 2 for bad usage.
template <typename Results>
int ExperimentMain(int argc, char** argv,
                   const Experiment<Results>& experiment) {
  return internal::RunExperiment(
      argc, argv, experiment.name, experiment.question,
      experiment.renamed_flags,
      [&experiment]() -> absl::StatusOr<internal::AnyRun> {
        absl::StatusOr<ExperimentRun<Results>> run = experiment.run();
        if (!run.ok()) return run.status();
        internal::AnyRun any = {.results = ToJson(run->results),
                                .measurements = run->measurements,
                                .provenance = run->provenance,
                                .written = run->written,
                                .print = {}};
        any.print = [&experiment, found = *std::move(run)] {
          experiment.print(found);
        };
        return any;
      });
}

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_FRAME_EXPERIMENT_H_
