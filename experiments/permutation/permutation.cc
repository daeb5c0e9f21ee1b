// Permutation: what attention knows of the order of its tokens.
//
// The chapter, section 1 and exercise 4: two sentences of the same words in
// opposite order get the same set of outputs; every output moves with its
// token. Measured on those sentences and on every order of a longer sequence,
// and what breaks the symmetry: a causal mask, position embeddings. Then the
// second thing that recurrence had and attention must be given: the future has
// no influence on the past.
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status.h"
#include "base/table.h"
#include "experiments/frame/experiment.h"
#include "experiments/frame/experiment_parameters.h"
#include "experiments/frame/json_text.h"
#include "experiments/permutation/measure.h"

// The parameters. The sentences are the chapter's.
ABSL_FLAG(int64_t, draws, 200, "Draws of embeddings and projections.");
ABSL_FLAG(int64_t, length, 6,
          "Tokens of the sequence whose every order is tried.");
ABSL_FLAG(int64_t, order_draws, 10,
          "Draws of that sequence and its projections.");
ABSL_FLAG(int64_t, seed, 1, "Seed of every random stream.");

namespace softlookup {
namespace {

absl::StatusOr<ExperimentRun<Json>> Run() {
  const int64_t draws = absl::GetFlag(FLAGS_draws);
  const int64_t length = absl::GetFlag(FLAGS_length);
  const int64_t order_draws = absl::GetFlag(FLAGS_order_draws);
  const int64_t seed = absl::GetFlag(FLAGS_seed);
  SOFTLOOKUP_RETURN_IF_ERROR(CheckParameter("draws", draws, 1, 1000000));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckParameter("length", length, 2, 8));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckParameter("order_draws", order_draws, 1, 1000));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckParameter("seed", seed, 0, INT64_MAX));
  const uint64_t stream_seed = static_cast<uint64_t>(seed);
  ExperimentRun<Json> run;
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      run.results["sentences"],
      MeasureSentences({.draws = draws, .seed = stream_seed}));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      run.results["all_orders"],
      MeasureAllOrders({.draws = order_draws, .seed = stream_seed}, length));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      run.results["influence"],
      MeasureInfluence({.draws = draws, .seed = stream_seed}, length));
  return run;
}

void PrintLine(const std::string& line) { std::puts(line.c_str()); }
void PrintTable(const Table& table) {
  std::fputs(table.ToString().c_str(), stdout);
}

std::string Sentence(const Json& words) {
  std::string sentence;
  for (const Json& word : words) {
    absl::StrAppend(&sentence, sentence.empty() ? "" : " ",
                    word.get<std::string>());
  }
  return sentence;
}

const std::pair<const char*, const char*> kVariants[] = {
    {"no positions", "no_positions"},
    {"causal mask", "causal"},
    {"position embeddings", "positions"}};

std::vector<std::string> EffectCells(const std::string& title,
                                     const Json& effect) {
  return {title, NumberText(effect["mean"], 4),
          NumberText(effect["range"][0], 4), NumberText(effect["range"][1], 4)};
}

void PrintSentences(const Json& sentences) {
  PrintLine(absl::StrCat("A: ", Sentence(sentences["first"]),
                         "  (pressure exceeds limit)"));
  PrintLine(absl::StrCat("B: ", Sentence(sentences["second"]),
                         "  (limit exceeds pressure)"));
  PrintLine(
      "The same three embeddings and one layer of attention, first "
      "draw:");
  Table outputs({"", "token", "output in A", "output in B", "the same?"});
  for (const auto& [title, name] : kVariants) {
    const Json& variant = sentences[name];
    for (size_t i = 0; i < 3; ++i) {
      const std::string in_first = TupleText(variant["outputs_of_first"][i]);
      const std::string in_second =
          TupleText(variant["outputs_of_second"][2 - i]);
      outputs.AddRow({i == 0 ? title : "",
                      sentences["first"][i].get<std::string>(), in_first,
                      in_second, in_first == in_second ? "yes" : "no"});
    }
  }
  PrintTable(outputs);
  PrintLine(absl::StrCat("\nOver ", NumberText(sentences["draws"]),
                         " draws, relative to the values:"));
  Table effects({"", "mean", "smallest", "largest"});
  for (const auto& [title, name] : kVariants) {
    effects.AddRow(
        EffectCells(absl::StrCat("a token's own output differs, ", title),
                    sentences[name]["own_output_difference"]));
  }
  for (const auto& [title, name] : kVariants) {
    effects.AddRow(EffectCells(absl::StrCat("the set of outputs, ", title),
                               sentences[name]["set_distance"]));
  }
  PrintTable(effects);
}

void PrintOrders(const Json& orders) {
  PrintLine(absl::StrCat(
      "\nEvery other order (", NumberText(orders["orders_of_each_draw"]),
      ") of ", NumberText(orders["length"]), " tokens, ",
      NumberText(orders["draws"]),
      " draws: how far outputs are from moving with their tokens"));
  Table effects({"", "mean", "smallest", "largest"});
  for (const auto& [title, name] : kVariants) {
    effects.AddRow(EffectCells(title, orders[name]));
  }
  PrintTable(effects);
}

void PrintInfluence(const Json& influence) {
  PrintLine("\nAnother last token: how much the outputs before it change");
  Table future({"", "mean", "smallest", "largest"});
  const Json& past = influence["future_on_past"];
  future.AddRow(EffectCells("recurrent network", past["recurrent"]));
  future.AddRow(EffectCells("attention, no mask", past["attention_unmasked"]));
  future.AddRow(EffectCells("attention, causal", past["attention_causal"]));
  PrintTable(future);
  PrintLine("\nAnother first token: how much the other tokens' outputs change");
  Table routes({"", "mean", "smallest", "largest"});
  const Json& others = influence["one_token_on_others"];
  routes.AddRow(EffectCells("attention", others["attention"]));
  routes.AddRow(
      EffectCells("a map of each token alone", others["position_wise"]));
  PrintTable(routes);
}

void Print(const ExperimentRun<Json>& run) {
  PrintSentences(run.results["sentences"]);
  PrintOrders(run.results["all_orders"]);
  PrintInfluence(run.results["influence"]);
}

}  // namespace
}  // namespace softlookup

int main(int argc, char** argv) {
  return softlookup::ExperimentMain<softlookup::Json>(
      argc, argv,
      {.name = "permutation",
       .question = "What does attention know of the order of its tokens?",
       .run = softlookup::Run,
       .print = softlookup::Print});
}
