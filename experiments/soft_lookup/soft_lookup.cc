// Soft lookup: attention as a dictionary that returns weighted averages.
//
// The chapter, section 1: a table of three entries is asked for one of them,
// first by equality (a hard lookup), then by the softmax of scaled dot
// products (a soft one). Measured: both answers; the soft one as all scores
// are multiplied by a factor c, from a plain average to the hard answer; both
// along a path of queries, where the hard answer stands still or jumps while
// the soft one has a gradient at every point; and what gradient descent makes
// of either. Before that, the scores that attention began with (introduction).
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>

#include "absl/flags/flag.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/elementary.h"
#include "base/json.h"
#include "base/status.h"
#include "base/table.h"
#include "experiments/frame/experiment.h"
#include "experiments/frame/experiment_parameters.h"
#include "experiments/frame/json_text.h"
#include "experiments/soft_lookup/historical_scores.h"
#include "experiments/soft_lookup/lookup_learning.h"
#include "experiments/soft_lookup/lookup_table.h"
#include "experiments/soft_lookup/soft_lookup_measure.h"

// The parameters. The table itself is the chapter's listing.
ABSL_FLAG(double, query_x, 1.0, "First component of the query.");
ABSL_FLAG(double, query_y, 1.0, "Second component of the query.");
ABSL_FLAG(double, largest_factor, 10000.0,
          "The largest factor c that multiplies all scores.");
ABSL_FLAG(int64_t, factors_per_decade, 24,
          "Factors c per power of ten in the sweep.");
ABSL_FLAG(int64_t, path_steps, 400,
          "Queries on the path from -45 to 135 degrees.");
ABSL_FLAG(int64_t, alignment_draws, 100,
          "Drawn decoder and encoder states for the score functions.");
ABSL_FLAG(int64_t, learning_draws, 10,
          "Drawn tasks of learning where to look.");
ABSL_FLAG(int64_t, learning_steps, 500,
          "Steps of gradient descent for each of them.");
ABSL_FLAG(int64_t, seed, 1, "Seed of every random stream.");

namespace softlookup {
namespace {

absl::StatusOr<ExperimentRun<Json>> Run() {
  const Vector2 query = {absl::GetFlag(FLAGS_query_x),
                         absl::GetFlag(FLAGS_query_y)};
  const double largest = absl::GetFlag(FLAGS_largest_factor);
  const int64_t per_decade = absl::GetFlag(FLAGS_factors_per_decade);
  const int64_t path_steps = absl::GetFlag(FLAGS_path_steps);
  const int64_t alignment_draws = absl::GetFlag(FLAGS_alignment_draws);
  const int64_t learning_draws = absl::GetFlag(FLAGS_learning_draws);
  const int64_t learning_steps = absl::GetFlag(FLAGS_learning_steps);
  const int64_t seed = absl::GetFlag(FLAGS_seed);
  SOFTLOOKUP_RETURN_IF_ERROR(CheckParameter("query_x", query[0], -1e3, 1e3));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckParameter("query_y", query[1], -1e3, 1e3));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckParameter("largest_factor", largest, 1.0, 1e9));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckParameter("factors_per_decade", per_decade, 1, 1000));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckParameter("path_steps", path_steps, 2, 100000));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckParameter("alignment_draws", alignment_draws, 1, 1000000));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckParameter("learning_draws", learning_draws, 1, 100000));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckParameter("learning_steps", learning_steps, 1, 100000));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckParameter("seed", seed, 0, INT64_MAX));
  const uint64_t stream_seed = static_cast<uint64_t>(seed);

  ExperimentRun<Json> run;
  Json& results = run.results;
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      results["alignment"],
      MeasureAlignment({.draws = alignment_draws, .seed = stream_seed}));
  results["entries"] = DescribeEntries();
  results["hard"] = MeasureHard();
  SOFTLOOKUP_ASSIGN_OR_RETURN(results["soft"], MeasureSoft(query));
  SOFTLOOKUP_ASSIGN_OR_RETURN(results["factor"],
                              MeasureFactors(query, largest, per_decade));
  results["overflow"] = MeasureOverflow(query);
  SOFTLOOKUP_ASSIGN_OR_RETURN(results["gradients"], MeasureGradients(query));
  SOFTLOOKUP_ASSIGN_OR_RETURN(results["path"], MeasurePath(path_steps));
  SOFTLOOKUP_ASSIGN_OR_RETURN(results["learning"],
                              MeasureLookupLearning({.draws = learning_draws,
                                                     .steps = learning_steps,
                                                     .seed = stream_seed}));
  return run;
}

void PrintLine(const std::string& line) { std::puts(line.c_str()); }
void PrintTable(const Table& table) {
  std::fputs(table.ToString().c_str(), stdout);
}

// "4.760 (3.1 to 5.2)" of {"mean", "range"}.
std::string MeanText(const Json& effect) {
  return absl::StrCat(NumberText(effect["mean"]), " (",
                      NumberText(effect["range"][0]), " to ",
                      NumberText(effect["range"][1]), ")");
}

void PrintAlignment(const Json& alignment) {
  const Json& sizes = alignment["sizes"];
  PrintLine(
      "Where it began: scores between a decoder's state and an "
      "encoder's positions");
  PrintLine(absl::StrCat("(", NumberText(alignment["draws"]), " draws of ",
                         NumberText(sizes["decoder_steps"]), " decoder and ",
                         NumberText(sizes["positions"]),
                         " encoder states of width ",
                         NumberText(sizes["width"]), ")."));
  Table scores({"score", "from its formula", "from linearity in s",
                "largest rank of all scores"});
  scores.AddRow({"additive, v.tanh(W s + U h)",
                 NumberText(alignment["from_formula"]["additive"], 2),
                 NumberText(alignment["from_linearity"]["additive"]["mean"], 2),
                 NumberText(alignment["largest_rank"]["additive"])});
  scores.AddRow({"dot, s.h", NumberText(alignment["from_formula"]["dot"], 2),
                 NumberText(alignment["from_linearity"]["dot"], 2),
                 NumberText(alignment["largest_rank"]["dot"])});
  scores.AddRow({"bilinear, s.W h",
                 NumberText(alignment["from_formula"]["bilinear"], 2),
                 NumberText(alignment["from_linearity"]["bilinear"], 2),
                 NumberText(alignment["largest_rank"]["bilinear"])});
  PrintTable(scores);
  PrintLine(
      "The multiplicative scores of all pairs are one matrix product: "
      "linear in s, of rank");
  PrintLine("at most the width. The additive score is neither.");
  const Json& context = alignment["context"];
  PrintLine(absl::StrCat(
      "The context vector is the weighted sum of the encoder states within ",
      NumberText(context["from_weighted_sum"], 2), "."));
  PrintLine(absl::StrCat("Its weights change with the decoder's state, by ",
                         MeanText(context["weight_change_by_decoder_state"]),
                         ".\n"));
}

void PrintLookups(const Json& results) {
  const Json& soft = results["soft"];
  PrintLine("A table of three entries:");
  Table entries({"entry", "key", "value", "score q.k", "over sqrt(2)"});
  for (size_t j = 0; j < results["entries"].size(); ++j) {
    const Json& entry = results["entries"][j];
    entries.AddRow({entry["name"].get<std::string>(),
                    TupleText(entry["key"], 0), TupleText(entry["value"], 0),
                    NumberText(soft["scores"][j]),
                    NumberText(soft["scaled_scores"][j])});
  }
  PrintTable(entries);
  PrintLine("");
  const Json& hard = results["hard"];
  Table lookups({"lookup", "query", "weights (pump, valve, tank)", "answer"});
  lookups.AddRow({"hard, hit", hard["hit"]["query"].dump(), "one exact match",
                  TupleText(hard["hit"]["value"], 0)});
  lookups.AddRow(
      {"hard, miss", hard["miss"]["query"].dump(), "none", "not found"});
  lookups.AddRow({"soft", TupleText(soft["query"], 1),
                  TupleText(soft["weights"]), TupleText(soft["output"])});
  lookups.AddRow({"soft, no equal key",
                  TupleText(soft["partial_match"]["query"], 1),
                  TupleText(soft["partial_match"]["weights"]),
                  TupleText(soft["partial_match"]["output"])});
  PrintTable(lookups);
  PrintLine(absl::StrCat("Names that are nearly in the table and found: ",
                         NumberText(hard["near_misses"]["found"]), " of ",
                         hard["near_misses"]["queries"].size(), "."));
  PrintLine(absl::StrCat(
      "Better matches with a smaller weight, over ",
      NumberText(soft["order"]["queries"]), " queries: ",
      NumberText(soft["order"]["violations"]), " (with scores reversed: ",
      NumberText(soft["order"]["violations_with_reversed_scores"]), ")."));
}

void PrintFactors(const Json& results) {
  PrintLine("\nAll scores multiplied by c:");
  Table factors(
      {"c", "weights", "answer", "distance to hard", "distance to mean"});
  for (const Json& point : results["factor"]["sweep"]) {
    const double factor = point["factor"].get<double>();
    // Whole decades only; the file has the rest.
    const double decade = factor > 0 ? Log(factor) / Log(10.0) : 0;
    if (std::abs(decade - std::round(decade)) > 1e-9) continue;
    factors.AddRow({absl::StrCat(factor), TupleText(point["weights"]),
                    TupleText(point["output"]),
                    NumberText(point["distance_to_hard"]),
                    NumberText(point["distance_to_mean"])});
  }
  PrintTable(factors);
  const Json& overflow = results["overflow"];
  PrintLine(
      absl::StrCat("At c = ", NumberText(overflow["factor"], 0),
                   " the exponentials overflow: weights that are not finite ",
                   NumberText(overflow["not_finite_without_subtraction"])));
  PrintLine(absl::StrCat(
      "of 3, or ", NumberText(overflow["not_finite_with_subtraction"]),
      " when the largest score is subtracted first (which at c = 1"));
  PrintLine(absl::StrCat(
      "changes no weight by more than ",
      NumberText(overflow["change_by_subtraction_at_factor_1"], 2), ")."));
}

void PrintGradients(const Json& results) {
  const Json& path = results["path"];
  const Json& gradients = results["gradients"];
  PrintLine("\nWhat gradient descent has to work with:");
  Table slopes({"", "hard", "soft"});
  slopes.AddRow({"largest slope in the query",
                 NumberText(gradients["hard_query"]),
                 NumberText(gradients["soft_query"])});
  slopes.AddRow({"in the keys", "", NumberText(gradients["soft_keys"])});
  slopes.AddRow({"in the values", "", NumberText(gradients["soft_values"])});
  slopes.AddRow({"steps of the path without any change",
                 absl::StrCat(NumberText(path["hard_steps_without_change"]),
                              " of ", NumberText(path["steps"])),
                 absl::StrCat(NumberText(path["soft_steps_without_change"]),
                              " of ", NumberText(path["steps"]))});
  slopes.AddRow(
      {"other steps of the path",
       absl::StrCat(NumberText(path["hard_jumps"]), " jumps of at least ",
                    NumberText(path["hard_smallest_jump"])),
       absl::StrCat("at most ", NumberText(path["soft_largest_step"], 4))});
  PrintTable(slopes);

  const Json& learning = results["learning"];
  PrintLine(absl::StrCat(
      "\nLearning where to look: ", NumberText(learning["steps"]),
      " steps of descent on W_Q and W_K, ", NumberText(learning["tokens"]),
      " tokens that each want the next"));
  PrintLine(absl::StrCat("one's value; mean (range) over ",
                         NumberText(learning["draws"]), " draws."));
  Table learned({"", "hard", "soft"});
  learned.AddRow({"gradient of W_Q, W_K at the start",
                  MeanText(learning["hard_query_or_key_gradient"]),
                  MeanText(learning["soft_query_or_key_gradient"])});
  learned.AddRow({"loss, last over first",
                  MeanText(learning["hard_loss_last_over_first"]),
                  MeanText(learning["soft_loss_last_over_first"])});
  learned.AddRow({"weight on the wanted token, first", "",
                  MeanText(learning["soft_weight_on_wanted_before"])});
  learned.AddRow({"weight on the wanted token, last", "",
                  MeanText(learning["soft_weight_on_wanted_after"])});
  PrintTable(learned);
}

void Print(const ExperimentRun<Json>& run) {
  PrintAlignment(run.results["alignment"]);
  PrintLookups(run.results);
  PrintFactors(run.results);
  PrintGradients(run.results);
}

}  // namespace
}  // namespace softlookup

int main(int argc, char** argv) {
  return softlookup::ExperimentMain<softlookup::Json>(
      argc, argv,
      {.name = "soft_lookup",
       .question = "What does attention return when a dictionary would find "
                   "an exact match or nothing?",
       .run = softlookup::Run,
       .print = softlookup::Print});
}
