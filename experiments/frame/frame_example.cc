// The smallest experiment, for experiment_test.py: it doubles a value and
// draws a few numbers.
#include <cstdint>
#include <cstdio>
#include <string>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/random/random.h"
#include "base/status.h"
#include "base/table.h"
#include "experiments/frame/experiment.h"
#include "experiments/frame/experiment_parameters.h"

ABSL_FLAG(double, value, 0.25, "The value to double.");
ABSL_FLAG(int64_t, draws, 3, "Numbers to draw.");
ABSL_FLAG(std::string, failure, "", "The message of a run that fails.");

namespace softlookup {
namespace {

absl::StatusOr<ExperimentRun<Json>> Run() {
  const int64_t draws = absl::GetFlag(FLAGS_draws);
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckParameter("draws", draws, int64_t{1}, int64_t{10}));
  const std::string failure = absl::GetFlag(FLAGS_failure);
  if (!failure.empty()) return absl::InternalError(failure);
  ExperimentRun<Json> run;
  run.results["doubled"] = 2 * absl::GetFlag(FLAGS_value);
  run.results["draws"] = Json::array();
  RandomStream stream(/*seed=*/1, "example");
  for (int64_t i = 0; i < draws; ++i) {
    run.results["draws"].push_back(stream.Gaussian());
  }
  run.measurements["runs"] = 1;
  return run;
}

void Print(const ExperimentRun<Json>& run) {
  Table table({"doubled"});
  table.AddRow({Fixed(run.results["doubled"].get<double>(), 3)});
  std::fputs(table.ToString().c_str(), stdout);
}

}  // namespace
}  // namespace softlookup

int main(int argc, char** argv) {
  return softlookup::ExperimentMain<softlookup::Json>(
      argc, argv,
      {.name = "frame_example",
       .question = "What is twice a value?",
       .run = softlookup::Run,
       .print = softlookup::Print});
}
