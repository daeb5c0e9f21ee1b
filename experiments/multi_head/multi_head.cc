// Multi-head attention: what several heads compute that one cannot.
//
// The chapter, section 4: the listing line by line, the output as a sum of the
// heads' writes, the two low-rank circuits of a head, what it all costs, two
// places for one head and for two, what moves information between positions,
// and the induction circuit built by hand.
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/json.h"
#include "base/status.h"
#include "base/table.h"
#include "experiments/frame/experiment.h"
#include "experiments/frame/experiment_parameters.h"
#include "experiments/frame/listings_reference.h"
#include "experiments/multi_head/circuits.h"
#include "experiments/multi_head/costs.h"
#include "experiments/multi_head/hand_built_induction.h"
#include "experiments/multi_head/places.h"
#include "experiments/multi_head/problem.h"
#include "experiments/multi_head/steps.h"
#include "experiments/multi_head/stream.h"

// The parameters. The first four are the chapter's listing.
ABSL_FLAG(int64_t, batch, 2, "Sequences B.");
ABSL_FLAG(int64_t, positions, 16, "Positions T.");
ABSL_FLAG(int64_t, heads, 8, "Heads h; the widths must be multiples of it.");
ABSL_FLAG(int64_t, width, 256, "Width d of the residual stream.");
ABSL_FLAG(int64_t, circuit_width, 128,
          "Width d of the layer whose circuits are decomposed.");
ABSL_FLAG(int64_t, large_width, 4096, "Width d of the large example.");
ABSL_FLAG(int64_t, large_heads, 32, "Heads h of the large example.");
ABSL_FLAG(int64_t, stream_width, 32,
          "Width d of the model whose residual stream is followed.");
ABSL_FLAG(int64_t, blocks, 4,
          "Blocks of the model whose residual stream is followed.");
ABSL_FLAG(double, match_score, 20.0,
          "Scaled score of a match in the hand-built heads.");
ABSL_FLAG(int64_t, sequences, 500,
          "Drawn sequences that the induction circuit completes.");
ABSL_FLAG(uint64_t, seed, 1, "Seed of every random stream.");

namespace softlookup {
namespace {

// InvalidArgument unless `value` is a multiple of `heads`.
absl::Status CheckMultiple(const std::string& flag, int64_t value,
                           int64_t heads) {
  if (value % heads == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--", flag, " is ", value, "; allowed: a multiple of the ",
                   heads, " heads"));
}

absl::StatusOr<ExperimentRun<Json>> Run() {
  MultiHeadSizes listing = {.batch = absl::GetFlag(FLAGS_batch),
                            .positions = absl::GetFlag(FLAGS_positions),
                            .width = absl::GetFlag(FLAGS_width),
                            .heads = absl::GetFlag(FLAGS_heads)};
  const int64_t heads = listing.heads;
  const int64_t circuit_width = absl::GetFlag(FLAGS_circuit_width);
  const int64_t large_width = absl::GetFlag(FLAGS_large_width);
  const int64_t large_heads = absl::GetFlag(FLAGS_large_heads);
  const int64_t stream_width = absl::GetFlag(FLAGS_stream_width);
  const int64_t blocks = absl::GetFlag(FLAGS_blocks);
  const double match_score = absl::GetFlag(FLAGS_match_score);
  const int64_t sequences = absl::GetFlag(FLAGS_sequences);
  const uint64_t seed = absl::GetFlag(FLAGS_seed);
  SOFTLOOKUP_RETURN_IF_ERROR(CheckParameter("batch", listing.batch, 1, 16));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckParameter("positions", listing.positions, 2, 64));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckParameter("heads", heads, 2, 64));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckParameter("width", listing.width, 2, 1024));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckMultiple("width", listing.width, heads));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckParameter("circuit_width", circuit_width, 2, 512));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckMultiple("circuit_width", circuit_width, heads));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckParameter("large_width", large_width, 1, 1 << 20));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckParameter("large_heads", large_heads, 1, large_width));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckMultiple("large_width", large_width, large_heads));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckParameter("stream_width", stream_width, 2, 256));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckMultiple("stream_width", stream_width, heads));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckParameter("blocks", blocks, 2, 64));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckParameter("match_score", match_score, 0.0, 500.0));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckParameter("sequences", sequences, 1, 100000));

  ExperimentRun<Json> run;
  Json& results = run.results;
  SOFTLOOKUP_ASSIGN_OR_RETURN(results["listing"], MeasureSteps(seed, listing));
  SOFTLOOKUP_ASSIGN_OR_RETURN(results["identities"],
                              MeasureIdentities(seed, listing));
  SOFTLOOKUP_ASSIGN_OR_RETURN(results["circuits"],
                              MeasureSubspaces(seed, {.batch = 1,
                                                      .positions = 1,
                                                      .width = circuit_width,
                                                      .heads = heads}));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      results["costs"], MeasureCosts(seed, listing, large_width, large_heads));
  SOFTLOOKUP_ASSIGN_OR_RETURN(results["two_places"],
                              MeasureTwoPlaces(/*largest_gap=*/40, 160));
  SOFTLOOKUP_ASSIGN_OR_RETURN(results["many_places"],
                              MeasureManyPlaces(heads, match_score));
  const MultiHeadSizes small = {
      .batch = 1, .positions = 8, .width = stream_width, .heads = heads};
  SOFTLOOKUP_ASSIGN_OR_RETURN(results["influence"],
                              MeasureInfluence(seed, small));
  SOFTLOOKUP_ASSIGN_OR_RETURN(results["residual_stream"],
                              MeasureResidualStream(seed, small, blocks));
  SOFTLOOKUP_ASSIGN_OR_RETURN(results["reach"],
                              MeasureReach(seed, match_score));
  SOFTLOOKUP_ASSIGN_OR_RETURN(results["independence"],
                              MeasureIndependence(seed, match_score));
  SOFTLOOKUP_ASSIGN_OR_RETURN(results["induction"],
                              MeasureInduction(seed, match_score, sequences));
  SOFTLOOKUP_ASSIGN_OR_RETURN(results["pytorch"],
                              ListingReference("multi_head"));
  // What PyTorch says to the view that the strides refuse.
  const bool refused =
      results["listing"]["merge"]["transposed_heads_merge_as_a_view"] == 0;
  results["pytorch"]["error_where_strides_refuse"] =
      refused ? results["pytorch"]["error_of_view"] : Json("none");
  return run;
}

// Four decimals; "0" for an exact zero only.
std::string Number(const Json& json) {
  const double value = JsonNumber(json).value();
  if (json.is_number_integer()) return absl::StrCat(json.get<int64_t>());
  return value == 0 ? "0" : Fixed(value, 4);
}

void PrintTable(const std::string& sentence, const Table& table) {
  std::printf("%s\n%s\n", sentence.c_str(), table.ToString().c_str());
}

void PrintListing(const Json& results) {
  const Json& listing = results["listing"];
  Table steps({"line", "shape", "sizes", "strides", "data moved"});
  for (const auto& [name, step] : listing["steps"].items()) {
    std::string moved = "(new)";
    if (step.contains("elements_moved")) {
      moved = step["elements_moved"] == 0
                  ? "none"
                  : Number(step["elements_moved"]) + " copied";
    }
    steps.AddRow({step["line"], step["shape"], step["sizes"].dump(),
                  step["strides"].dump(), moved});
  }
  PrintTable(
      "Multi-head attention line by line; only the merge at the end has "
      "to copy:",
      steps);
  const Json& merge = listing["merge"];
  const auto yes = [&merge](const char* member) {
    return merge[member] == 1 ? "yes" : "no";
  };
  Table views({"is a view possible?", ""});
  views.AddRow(
      {"merge heads that were only split", yes("split_heads_merge_as_a_view")});
  views.AddRow({"merge the averages' heads, transposed back",
                yes("transposed_heads_merge_as_a_view")});
  views.AddRow({"split each of those heads in halves instead",
                yes("transposed_heads_split_in_halves_as_a_view")});
  views.AddRow({"elements that reshape copies for the averages",
                Number(merge["reshape_of_averages_copies_elements"])});
  views.AddRow({absl::StrCat("error of such a view in PyTorch ",
                             results["pytorch"]["version"].get<std::string>(),
                             ", as recorded"),
                results["pytorch"]["error_of_view"]});
  PrintTable("Which views the strides allow:", views);
}

void PrintIdentities(const Json& results) {
  const Json& identities = results["identities"];
  Table table({"identity", "difference over its bound from rounding"});
  const auto add = [&](const char* what, const char* member) {
    table.AddRow({what, Number(identities[member]["difference_over_bound"])});
  };
  add("output = sum of the heads' writes", "sum_of_writes");
  add("q . k = x QK x'", "score_through_qk_circuit");
  add("write = P x OV", "write_through_ov_circuit");
  table.AddRow(
      {"the lines above = the operator",
       Number(results["listing"]["operator"]["difference_over_bound"])});
  PrintTable("Identities of one layer (below 1: equal to rounding):", table);

  const Json& circuits = results["circuits"];
  Table ranks({absl::StrCat("circuit, ", circuits["width"].get<int64_t>(),
                            " by ", circuits["width"].get<int64_t>()),
               "rank of each head", "rank of one full-width head"});
  for (const char* member : {"qk", "ov"}) {
    const Json& circuit = circuits[member];
    ranks.AddRow({member, circuit["rank_by_head"].dump(),
                  Number(circuit["rank_of_full_width_head"])});
  }
  ranks.AddRow(
      {"dimensions of the writes",
       Number(circuits["writes"]["dimensions_of_first_head"]),
       Number(circuits["writes"]["dimensions_of_all_heads"]) + " (all heads)"});
  PrintTable(
      absl::StrCat("A head works in d_k = ",
                   circuits["head_width"].get<int64_t>(), " dimensions:"),
      ranks);
}

void PrintCosts(const Json& costs) {
  Table table({"heads", "d_k", "parameters", "FLOPs of 4 projections, 1 token",
               "multiply-adds of all scores", "FLOPs of mixing, last token"});
  for (const Json& entry : costs["by_heads"]) {
    table.AddRow(
        {Number(entry["heads"]), Number(entry["head_width"]),
         Number(entry["parameters"]),
         Number(entry["flops_of_four_projections_of_one_token"]),
         Number(entry["multiply_adds_of_all_scores"]),
         Number(entry["flops_of_the_last_tokens_scores_and_averages"])});
  }
  PrintTable(absl::StrCat("Counted on d = ", costs["width"].get<int64_t>(),
                          ", T = ", costs["positions"].get<int64_t>(),
                          ": nothing depends on the number of heads:"),
             table);
  Table doubling({"T", "FLOPs of mixing", "over half the T",
                  "FLOPs of projections", "over half the T "});
  for (const Json& entry : costs["sequences"]) {
    doubling.AddRow(
        {Number(entry["positions"]), Number(entry["mixing_flops"]),
         Number(entry["mixing_flops_over_those_of_half_the_length"]),
         Number(entry["projection_flops"]),
         Number(entry["projection_flops_over_those_of_half_the_length"])});
  }
  PrintTable("Over a sequence, mixing grows with the square of its length:",
             doubling);
}

void PrintPlaces(const Json& results) {
  const Json& two = results["two_places"];
  Table table({"what is wanted: a and b", "distance to the farther one"});
  table.AddRow(
      {"one head, at best",
       Number(two["one_head"]["smallest_distance_to_the_farther_value"])});
  table.AddRow(
      {"two heads", Number(two["two_heads"]["distance_to_the_farther_value"])});
  PrintTable(
      "One head returns averages, on the segment from a to b (in units "
      "of its length):",
      table);
  const Json& many = results["many_places"];
  std::printf("%lld heads reach %lld positions at once, one head %lld.\n\n",
              static_cast<long long>(many["heads"].get<int64_t>()),
              static_cast<long long>(many["places_reached"].get<int64_t>()),
              static_cast<long long>(
                  many["places_reached_by_one_head"].get<int64_t>()));
}

void PrintStream(const Json& results) {
  Table influence({"d(output i) / d(input j)", "i = j", "i != j", "j > i"});
  for (const char* member : {"feed_forward", "attention"}) {
    const Json& layer = results["influence"][member];
    influence.AddRow({member, Number(layer["largest_at_own_position"]),
                      Number(layer["largest_across_positions"]),
                      Number(layer["largest_from_later_positions"])});
  }
  PrintTable(
      "Only attention moves information between positions, and only "
      "forward:",
      influence);
  const Json& residual = results["residual_stream"];
  Table table({"residual stream of random blocks", ""});
  table.AddRow({"final stream against embedding plus all writes, over bound",
                Number(residual["sum_difference_over_bound"])});
  table.AddRow({"change when the later blocks start from the stream alone",
                Number(residual["change_when_rerun_from_the_stream"])});
  table.AddRow({"... from a stream that lacks one write",
                Number(residual["change_when_a_write_is_missing"])});
  PrintTable("Layers communicate through the stream and nothing else:", table);
}

void PrintInduction(const Json& results) {
  const Json& independence = results["independence"];
  Table swaps({"a head that looks one back and copies", "pattern changes by",
               "writes change by"});
  const std::vector<std::pair<const char*, const char*>> exchanges = {
      {"ov_exchanged", "its OV circuit exchanged"},
      {"qk_exchanged", "its QK circuit exchanged"},
      {"tokens_exchanged", "all tokens exchanged"}};
  for (const auto& [member, name] : exchanges) {
    swaps.AddRow({name, Number(independence[member]["pattern_change"]),
                  Number(independence[member]["write_change"])});
  }
  PrintTable("Where a head looks and what it writes are set apart:", swaps);

  const Json& induction = results["induction"];
  std::vector<std::string> words;
  for (const Json& word : induction["sentence"]) {
    words.push_back(word.get<std::string>());
  }
  Table table({"induction circuit", "prediction", "margin of pump",
               "attention to pump", "drawn sequences completed"});
  for (const auto& [name, sentence] : induction["variants"].items()) {
    const Json& drawn = induction["drawn"]["variants"][name];
    std::string label = name;
    for (char& c : label) {
      if (c == '_') c = ' ';
    }
    table.AddRow({label, sentence["predicted"], Number(sentence["margin"]),
                  Number(sentence["attention_to_follower"]),
                  Number(drawn["share_completed"])});
  }
  PrintTable(absl::StrCat("\"", absl::StrJoin(words, " "),
                          "\" ... and then? Two hand-built heads in two "
                          "layers:"),
             table);
}

void Print(const ExperimentRun<Json>& run) {
  PrintListing(run.results);
  PrintIdentities(run.results);
  PrintCosts(run.results["costs"]);
  PrintPlaces(run.results);
  PrintStream(run.results);
  PrintInduction(run.results);
}

}  // namespace
}  // namespace softlookup

int main(int argc, char** argv) {
  return softlookup::ExperimentMain<softlookup::Json>(
      argc, argv,
      {.name = "multi_head",
       .question = "What do several heads compute that one cannot?",
       .run = softlookup::Run,
       .print = softlookup::Print});
}
