#include "experiments/induction/print.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/table.h"

namespace softlookup {
namespace {

double Number(const Json& json) { return json.get<double>(); }

double Value(const Json& estimate) { return Number(estimate["value"]); }

// "0.983 ± 0.002", one standard error.
std::string WithError(const Json& estimate) {
  return absl::StrCat(Fixed(Value(estimate), 3), " ± ",
                      Fixed(Number(estimate["standard_error"]), 3));
}

// "layer 0, head 1".
std::string HeadText(const Json& name) {
  return absl::StrCat("layer ", name["layer"].get<int64_t>(), ", head ",
                      name["head"].get<int64_t>());
}

void PrintTable(const std::string& title, const Table& table) {
  std::printf("%s\n%s\n", title.c_str(), table.ToString().c_str());
}

std::vector<std::string> EffectCells(const Json& effect) {
  return {WithError(effect["accuracy"]), WithError(effect["repeat_loss"]),
          WithError(effect["loss_increase"])};
}

void AddEffect(const std::string& what, const Json& effect, Table& table) {
  std::vector<std::string> cells = {what};
  for (std::string& cell : EffectCells(effect)) {
    cells.push_back(std::move(cell));
  }
  table.AddRow(std::move(cells));
}

Table EffectTable(const std::string& what) {
  return Table({what, "accuracy on repeats", "loss on repeats", "loss added"});
}

// About a dozen points, the last among them, and all between where the model
// learns fastest.
bool Shown(const Json& curve, size_t i, const Json& window) {
  const int64_t step = curve[i]["step"].get<int64_t>();
  const size_t stride = std::max<size_t>(1, curve.size() / 8);
  return i % stride == 0 || i + 1 == curve.size() ||
         (window["found"].get<bool>() &&
          step >= window["begin"].get<int64_t>() &&
          step <= window["end"].get<int64_t>());
}

void PrintCurve(const Json& results) {
  const Json& curve = results["curve"];
  const Json& change = results["phase_change"];
  const Json& chosen = results["chosen"];
  const auto score = [](const Json& point, const Json& head, const char* name) {
    return Fixed(Number(point["heads"][head["layer"].get<size_t>()]
                             [head["head"].get<size_t>()][name]),
                 2);
  };
  Table table({"step", "loss, first part", "loss, repeats", "accuracy",
               "in-context score", "previous-token score", "induction score"});
  for (size_t i = 0; i < curve.size(); ++i) {
    if (!Shown(curve, i, change)) continue;
    const Json& point = curve[i];
    table.AddRow({absl::StrCat(point["step"].get<int64_t>()),
                  Fixed(Number(point["first_loss"]), 3),
                  Fixed(Number(point["repeat_loss"]), 3),
                  Fixed(Number(point["accuracy"]), 3),
                  Fixed(Number(point["in_context"]), 2),
                  score(point, chosen["previous_token"], "previous_token"),
                  score(point, chosen["induction"], "prefix_matching")});
  }
  PrintTable(
      "Learning. Losses in nats per token; the first part of a sequence cannot "
      "be predicted, its\nrepeats can. In-context score: loss at the last 8 "
      "positions minus loss at the first 8:",
      table);
  if (change["found"].get<bool>()) {
    std::printf(
        "The phase change: the in-context score makes the middle three fifths "
        "of its way between\nsteps %d and %d, %s of the training; half of it "
        "by step %d, when the induction\nscore makes half of its rise by step "
        "%d and the previous-token score by step %d.\n",
        change["begin"].get<int>(), change["end"].get<int>(),
        Fixed(Number(change["share_of_training"]), 3).c_str(),
        change["half"].get<int>(), change["induction_half"].get<int>(),
        change["previous_token_half"].get<int>());
  } else {
    std::printf("No phase change: the in-context score fell by %s nats.\n",
                Fixed(Number(change["in_context_fall"]), 3).c_str());
  }
  if (change["bump"]["found"].get<bool>()) {
    std::printf(
        "The loss has a bump: from step %d to %d it rises by %s nats.\n\n",
        change["bump"]["from"].get<int>(), change["bump"]["to"].get<int>(),
        WithError(change["bump"]["rise"]).c_str());
  } else {
    std::printf(
        "The loss at all positions has no bump on the way: no rise of more "
        "than four standard errors.\n\n");
  }
}

void PrintHeads(const Json& results) {
  Table table({"head", "to the token before", "induction",
               "to copies of the "
               "token",
               "copying", "copying, by eigenvalues"});
  for (const Json& head : results["heads"]) {
    table.AddRow({HeadText(head), WithError(head["previous_token"]),
                  WithError(head["prefix_matching"]),
                  WithError(head["duplicate_token"]),
                  WithError(head["copying"]),
                  Fixed(Number(head["eigenvalue_copying"]), 3)});
  }
  PrintTable("What the heads look like (± one standard error over sequences):",
             table);
  for (const Json& head : results["heads"]) {
    if (HeadText(head) != HeadText(results["chosen"]["previous_token"])) {
      continue;
    }
    const Json& by_position = head["previous_by_position"];
    std::string text;
    for (size_t i = 0; i < by_position.size(); i += 8) {
      absl::StrAppend(&text, text.empty() ? "" : ", ", i + 1, ": ",
                      Fixed(Number(by_position[i]), 2));
    }
    std::printf(
        "%s by position: %s.\nIts mean is no measure: a late position is "
        "nowhere looked for, so nothing need be written there.\n\n",
        HeadText(head).c_str(), text.c_str());
  }
}

void PrintInterventions(const Json& results) {
  Table table = EffectTable("output taken away");
  AddEffect("nothing", results["clean"], table);
  for (const Json& head : results["single_heads"]) {
    for (const auto& [name, text] :
         std::vector<std::pair<std::string, std::string>>{
             {"zero", ", zero"},
             {"mean", ", mean"},
             {"resample", ", of another sequence"},
             {"pattern_preserving", ", zero, patterns kept"}}) {
      AddEffect(HeadText(head) + text, head[name], table);
    }
  }
  for (const Json& layer : results["layers"]) {
    AddEffect(absl::StrCat("all heads of layer ", layer["layer"].get<int64_t>(),
                           ", zero"),
              layer, table);
  }
  PrintTable("What the heads are for (nats per token):", table);
  std::printf(
      "Found by what their loss costs: the previous-token head is %s, the\n"
      "induction head %s.\n\n",
      HeadText(results["chosen"]["previous_token"]).c_str(),
      HeadText(results["chosen"]["induction"]).c_str());

  Table paths({"the previous-token head taken out of", "accuracy on repeats",
               "loss added", "induction score"});
  for (const auto& [name, text] :
       std::vector<std::pair<std::string, std::string>>{
           {"key", "the keys"},
           {"query", "the queries"},
           {"value", "the values"}}) {
    const Json& path = results["paths"][name];
    paths.AddRow({text, WithError(path["accuracy"]),
                  WithError(path["loss_increase"]),
                  WithError(path["prefix_matching"])});
  }
  PrintTable("By which path, into the layer of the induction head:", paths);

  Table ideal({"ideal pattern instead of the learned one",
               "accuracy on repeats", "loss on repeats",
               "share of the loss recovered"});
  for (const auto& [name, text] :
       std::vector<std::pair<std::string, std::string>>{
           {"previous_token", "previous token, in that head"},
           {"induction", "induction, in that layer"}}) {
    const Json& pattern = results["ideal_patterns"][name];
    ideal.AddRow({text, WithError(pattern["ideal"]["accuracy"]),
                  WithError(pattern["ideal"]["repeat_loss"]),
                  Fixed(Number(pattern["recovered"]), 3)});
  }
  PrintTable("Ideal patterns, against taking the heads away:", ideal);
  if (results.contains("expansion_difference")) {
    std::printf(
        "With the patterns kept, taking a head away subtracts its terms of the "
        "residual\nexpansion and nothing else: the logits agree to %s of the "
        "largest.\n\n",
        Fixed(Number(results["expansion_difference"]), 3).c_str());
  }
}

void PrintWeights(const Json& results) {
  const Json& composition = results["composition"];
  Table table({"writes", "is read by", "as query", "as key", "as value"});
  for (const Json& pair : composition["pairs"]) {
    const auto cell = [&pair](const std::string& name) {
      return absl::StrCat(Fixed(Number(pair[name]), 3), " (",
                          Fixed(Number(pair[name + "_deviations"]), 1), ")");
    };
    table.AddRow({HeadText(pair["from"]), HeadText(pair["to"]), cell("query"),
                  cell("key"), cell("value")});
  }
  PrintTable(
      absl::StrCat(
          "Composition scores (in brackets: standard deviations above "
          "random heads, which have ",
          Fixed(Number(composition["baseline"]["mean"]), 3), " ± ",
          Fixed(Number(composition["baseline"]["standard_deviation"]), 3),
          "):"),
      table);
  Table circuits({"circuit", "rows with their largest element there",
                  "standard deviations above the row's mean"});
  for (const auto& [name, text] :
       std::vector<std::pair<std::string, std::string>>{
           {"output", "induction head: a token attended to raises itself"},
           {"match",
            "induction head: finds its token by the first head's "
            "write"},
           {"direct", "the same without the first head's write"},
           {"position", "previous-token head: the position before"}}) {
    if (!results["circuits"].contains(name)) continue;
    const Json& circuit = results["circuits"][name];
    circuits.AddRow({text, Fixed(Number(circuit["largest_on_diagonal"]), 3),
                     Fixed(Number(circuit["diagonal_deviations"]), 2)});
  }
  PrintTable("Full circuits, from the weights alone:", circuits);
}

void PrintTransfer(const Json& results) {
  std::vector<std::string> header = {"accuracy on period"};
  for (const Json& at : results["period_transfer"]) {
    header.push_back(absl::StrCat(at["period"].get<int64_t>()));
  }
  Table table(header);
  const auto add = [&table](const std::string& name, const Json& transfer) {
    std::vector<std::string> cells = {name};
    for (const Json& at : transfer) {
      cells.push_back(Fixed(Value(at["accuracy"]), 3));
    }
    table.AddRow(std::move(cells));
  };
  add("the model", results["period_transfer"]);
  if (results.contains("controls")) {
    for (const auto& [name, text] :
         std::vector<std::pair<std::string, std::string>>{
             {"drawn_period", "one layer"},
             {"fixed_period", "one layer, learned one period"},
             {"smeared_keys", "one layer, smeared keys"}}) {
      add(text, results["controls"][name]["period_transfer"]);
    }
  }
  PrintTable("Period by period:", table);
}

void PrintControls(const Json& results) {
  Table table({"one-layer model", "steps", "accuracy on its own task",
               "induction score there", "accuracy on drawn periods",
               "induction score there"});
  for (const auto& [name, text] :
       std::vector<std::pair<std::string, std::string>>{
           {"drawn_period", "as published"},
           {"fixed_period", "learned one period only"},
           {"doubled", "A A B B: copy the current token"},
           {"smeared_keys", "keys smeared with the one before"}}) {
    const Json& control = results["controls"][name];
    const bool drawn = control.contains("drawn");
    table.AddRow({text, absl::StrCat(control["steps"].get<int64_t>()),
                  WithError(control["accuracy"]),
                  WithError(control["prefix_matching"]),
                  drawn ? WithError(control["drawn"]["accuracy"]) : "",
                  drawn ? WithError(control["drawn"]["prefix_matching"]) : ""});
  }
  PrintTable("Controls:", table);
}

}  // namespace

void PrintInduction(const ExperimentRun<Json>& run) {
  const Json& results = run.results;
  std::printf(
      "A model of %d parameters, trained for %d steps in %s s (weights "
      "%s).\n\n",
      results["model"]["parameters"].get<int>(),
      results["curve"].back()["step"].get<int>(),
      Fixed(Number(run.measurements["training_seconds"]), 1).c_str(),
      results["model"]["weights_hash"].get<std::string>().c_str());
  PrintCurve(results);
  PrintHeads(results);
  PrintInterventions(results);
  PrintWeights(results);
  if (results.contains("controls")) PrintControls(results);
  PrintTransfer(results);
}

}  // namespace softlookup
