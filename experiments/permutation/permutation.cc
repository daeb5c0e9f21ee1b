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
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/statistics/estimate.h"
#include "base/status.h"
#include "base/table.h"
#include "base/tensor/tensor.h"
#include "experiments/frame/experiment.h"
#include "experiments/frame/experiment_parameters.h"
#include "experiments/permutation/results.h"

// The parameters. The sentences are the chapter's.
ABSL_FLAG(int64_t, draws, 200, "Draws of embeddings and projections.");
ABSL_FLAG(int64_t, length, 6,
          "Tokens of the sequence whose every order is tried.");
ABSL_FLAG(int64_t, order_draws, 10,
          "Draws of that sequence and its projections.");
ABSL_FLAG(int64_t, seed, 1, "Seed of every random stream.");

namespace softlookup {
namespace {

absl::StatusOr<ExperimentRun<PermutationResults>> Run() {
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
  ExperimentRun<PermutationResults> run;
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      run.results.sentences,
      MeasureSentences({.draws = draws, .seed = stream_seed}));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      run.results.all_orders,
      MeasureAllOrders({.draws = order_draws, .seed = stream_seed}, length));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      run.results.influence,
      MeasureInfluence({.draws = draws, .seed = stream_seed}, length));
  return run;
}

void PrintLine(const std::string& line) { std::puts(line.c_str()); }
void PrintTable(const Table& table) {
  std::fputs(table.ToString().c_str(), stdout);
}

const char* TitleOf(Variant variant) {
  switch (variant) {
    case Variant::kNoPositions:
      return "no positions";
    case Variant::kCausal:
      return "causal mask";
    case Variant::kPositions:
      break;
  }
  return "position embeddings";
}

std::vector<std::string> EffectCells(const std::string& title,
                                     const MeanAndRange& effect) {
  return {title, Fixed(effect.mean, 4), Fixed(effect.smallest, 4),
          Fixed(effect.largest, 4)};
}

// One token's output, [2], of outputs [T, 2].
std::string OutputText(const Tensor<double>& outputs, int64_t token) {
  return Tuple({outputs(token, 0), outputs(token, 1)});
}

void PrintSentences(const SentencesResults& sentences) {
  PrintLine(absl::StrCat("A: ", absl::StrJoin(sentences.first, " "),
                         "  (pressure exceeds limit)"));
  PrintLine(absl::StrCat("B: ", absl::StrJoin(sentences.second, " "),
                         "  (limit exceeds pressure)"));
  PrintLine(
      "The same three embeddings and one layer of attention, first "
      "draw:");
  Table outputs({"", "token", "output in A", "output in B", "the same?"});
  for (const Variant v : kVariants) {
    for (int64_t i = 0; i < 3; ++i) {
      const std::string in_first =
          OutputText(sentences.variants[v].outputs_of_first, i);
      const std::string in_second =
          OutputText(sentences.variants[v].outputs_of_second, 2 - i);
      outputs.AddRow({i == 0 ? TitleOf(v) : "", sentences.first[i], in_first,
                      in_second, in_first == in_second ? "yes" : "no"});
    }
  }
  PrintTable(outputs);
  PrintLine(absl::StrCat("\nOver ", sentences.draws,
                         " draws, relative to the values:"));
  Table effects({"", "mean", "smallest", "largest"});
  for (const Variant v : kVariants) {
    effects.AddRow(
        EffectCells(absl::StrCat("a token's own output differs, ", TitleOf(v)),
                    sentences.variants[v].own_output_difference));
  }
  for (const Variant v : kVariants) {
    effects.AddRow(EffectCells(absl::StrCat("the set of outputs, ", TitleOf(v)),
                               sentences.variants[v].set_distance));
  }
  PrintTable(effects);
}

void PrintOrders(const AllOrdersResults& orders) {
  PrintLine(absl::StrCat(
      "\nEvery other order (", orders.orders_of_each_draw, ") of ",
      orders.length, " tokens, ", orders.draws,
      " draws: how far outputs are from moving with their tokens"));
  Table effects({"", "mean", "smallest", "largest"});
  for (const Variant v : kVariants) {
    effects.AddRow(EffectCells(TitleOf(v), orders.moved[v]));
  }
  PrintTable(effects);
}

void PrintInfluence(const Influence<MeanAndRange>& effects) {
  PrintLine("\nAnother last token: how much the outputs before it change");
  Table future({"", "mean", "smallest", "largest"});
  future.AddRow(EffectCells("recurrent network", effects.recurrent));
  future.AddRow(EffectCells("attention, no mask", effects.attention_unmasked));
  future.AddRow(EffectCells("attention, causal", effects.attention_causal));
  PrintTable(future);
  PrintLine("\nAnother first token: how much the other tokens' outputs change");
  Table routes({"", "mean", "smallest", "largest"});
  routes.AddRow(EffectCells("attention", effects.attention_on_others));
  routes.AddRow(EffectCells("a map of each token alone",
                            effects.position_wise_on_others));
  PrintTable(routes);
}

void Print(const ExperimentRun<PermutationResults>& run) {
  PrintSentences(run.results.sentences);
  PrintOrders(run.results.all_orders);
  PrintInfluence(run.results.influence.effects);
}

}  // namespace
}  // namespace softlookup

int main(int argc, char** argv) {
  return softlookup::ExperimentMain<softlookup::PermutationResults>(
      argc, argv,
      {.name = "permutation",
       .question = "What does attention know of the order of its tokens?",
       .run = softlookup::Run,
       .print = softlookup::Print});
}
