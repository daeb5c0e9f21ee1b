// Induction over seeds: how often a two-layer model forms the circuit, when,
// and what it costs to break it.
//
// Reads what runs of the induction experiment found, one for each seed; the
// build makes those of the published sweep, one action each.
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/json.h"
#include "base/status.h"
#include "base/table.h"
#include "experiments/frame/experiment.h"
#include "experiments/frame/experiment_parameters.h"
#include "experiments/frame/published_inputs.h"
#include "experiments/induction_sweep/seeds.h"
#include "ledger/results_file.h"

// The parameters.
ABSL_FLAG(std::vector<std::string>, runs, {},
          "Results files of induction with a seed each, with commas between, "
          "instead of those of the published sweep.");
ABSL_FLAG(double, accuracy, 0.9,
          "A model has formed the circuit if it continues at least this share "
          "of repeats,");
ABSL_FLAG(double, without_head, 0.5,
          "at most this share without its previous-token head,");
ABSL_FLAG(double, without_other, 0.9,
          "and at least this share without any other head of that layer.");

namespace softlookup {
namespace {

constexpr int64_t kPublishedSeeds = 8;

absl::StatusOr<ExperimentRun<Json>> Run() {
  for (const auto& [name, value] :
       {std::pair("accuracy", absl::GetFlag(FLAGS_accuracy)),
        std::pair("without_head", absl::GetFlag(FLAGS_without_head)),
        std::pair("without_other", absl::GetFlag(FLAGS_without_other))}) {
    SOFTLOOKUP_RETURN_IF_ERROR(CheckParameter(name, value, 0.0, 1.0));
  }
  std::vector<std::string> paths;
  for (const std::string& path : absl::GetFlag(FLAGS_runs)) {
    paths.push_back(ResolveUserPath(path));
  }
  if (paths.empty()) {
    std::vector<std::string> published;
    for (int64_t seed = 1; seed <= kPublishedSeeds; ++seed) {
      published.push_back(absl::StrCat(
          "experiments/induction_sweep/induction_seed_", seed, ".json"));
    }
    SOFTLOOKUP_ASSIGN_OR_RETURN(paths, PublishedInputs(published));
  }
  std::vector<Json> runs;
  for (const std::string& path : paths) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(Json run, ReadResultsFile(path));
    runs.push_back(std::move(run));
  }
  ExperimentRun<Json> run;
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      run.results,
      SummarizeRuns(runs,
                    {.accuracy = absl::GetFlag(FLAGS_accuracy),
                     .without_head = absl::GetFlag(FLAGS_without_head),
                     .without_other = absl::GetFlag(FLAGS_without_other)}));
  return run;
}

std::string Number(const Json& json, int decimals) {
  return Fixed(json.get<double>(), decimals);
}

void Print(const ExperimentRun<Json>& run) {
  const Json& results = run.results;
  Table table({"seed", "accuracy", "previous-token head", "without it",
               "without another", "without its keys", "induction head",
               "without its layer", "phase change", "circuit"});
  const auto head = [](const Json& name) {
    return absl::StrCat(name["layer"].get<int64_t>(), ".",
                        name["head"].get<int64_t>());
  };
  for (const Json& seed : results["runs"]) {
    table.AddRow({absl::StrCat(seed["seed"].get<uint64_t>()),
                  Number(seed["accuracy"], 3), head(seed["previous_token"]),
                  Number(seed["without_previous_token"], 3),
                  Number(seed["without_other"], 3),
                  Number(seed["without_key_path"], 3), head(seed["induction"]),
                  Number(seed["without_induction_layer"], 3),
                  seed.contains("phase_begin")
                      ? absl::StrCat(Number(seed["phase_begin"], 0), " to ",
                                     Number(seed["phase_end"], 0))
                      : "none",
                  seed["formed"].get<bool>() ? "yes" : "no"});
  }
  std::printf(
      "Accuracy on repeats, as it is and with a head's output set to zero; "
      "heads as layer.head:\n%s\n",
      table.ToString().c_str());

  Table means({"over the seeds", "mean", "lowest", "highest"});
  for (const auto& [name, text] :
       std::vector<std::pair<std::string, std::string>>{
           {"repeat_loss", "loss on repeats (nats per token)"},
           {"in_context", "in-context score (nats)"},
           {"previous_token_loss_increase",
            "loss added without the previous-token head"},
           {"other_loss_increase", "... without another head of its layer"},
           {"induction_loss_increase", "... without the induction head"},
           {"key_path_loss_increase",
            "... with the previous-token head cut from the keys"},
           {"query_path_loss_increase", "... from the queries"},
           {"value_path_loss_increase", "... from the values"},
           {"without_previous_token_patterns_kept",
            "accuracy without the previous-token head, patterns kept"},
           {"previous_token_score", "score of the previous-token head"},
           {"induction_score", "score of the induction head"},
           {"induction_eigenvalue_copying",
            "copying of the induction head, by eigenvalues"},
           {"key_composition_deviations",
            "key composition, standard deviations above random"},
           {"query_composition_deviations", "query composition"},
           {"value_composition_deviations", "value composition"},
           {"ideal_previous_token_recovered",
            "loss recovered by an ideal previous-token pattern"},
           {"ideal_induction_recovered", "... by an ideal induction pattern"},
           {"phase_half", "step of half of the in-context score's fall"},
           {"induction_half", "step of half of the induction score's rise"},
           {"phase_share", "window as a share of the training"}}) {
    if (!results["over_runs"].contains(name)) continue;
    const Json& estimate = results["over_runs"][name];
    means.AddRow({text,
                  absl::StrCat(Number(estimate["value"], 3), " ± ",
                               Number(estimate["standard_error"], 3)),
                  Number(estimate["lowest"], 3),
                  Number(estimate["highest"], 3)});
  }
  std::printf("Means ± one standard error:\n%s\n", means.ToString().c_str());
  for (const auto& [name, text] :
       std::vector<std::pair<std::string, std::string>>{
           {"formed", "formed the circuit"},
           {"phase_changes", "had a phase change"},
           {"loss_bumps", "had a bump in the loss at all positions"}}) {
    const Json& share = results[name];
    std::printf("%d of %d models %s (95 %% interval %s to %s).\n",
                share["count"].get<int>(), share["of"].get<int>(), text.c_str(),
                Number(share["interval"][0], 2).c_str(),
                Number(share["interval"][1], 2).c_str());
  }
}

}  // namespace
}  // namespace softlookup

int main(int argc, char** argv) {
  return softlookup::ExperimentMain<softlookup::Json>(
      argc, argv,
      {.name = "induction_sweep",
       .question = "How often does a two-layer model form the induction "
                   "circuit, and when?",
       .run = softlookup::Run,
       .print = softlookup::Print});
}
