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
#include "base/statistics/estimate.h"
#include "base/status.h"
#include "base/table.h"
#include "experiments/frame/experiment.h"
#include "experiments/frame/experiment_parameters.h"
#include "experiments/soft_lookup/results.h"

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

absl::StatusOr<ExperimentRun<SoftLookupResults>> Run() {
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

  ExperimentRun<SoftLookupResults> run;
  SoftLookupResults& results = run.results;
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      results.historical_scores,
      MeasureHistoricalScores({.draws = alignment_draws, .seed = stream_seed}));
  const LookupTable& table = ChapterTable();
  results.table = table;
  results.hard = MeasureHard(table);
  SOFTLOOKUP_ASSIGN_OR_RETURN(results.soft, MeasureSoft(table, query));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      results.factor, MeasureFactors(table, query, largest, per_decade));
  results.overflow = MeasureOverflow(table, query);
  SOFTLOOKUP_ASSIGN_OR_RETURN(results.slopes, MeasureSlopes(table, query));
  SOFTLOOKUP_ASSIGN_OR_RETURN(results.path, MeasurePath(table, path_steps));
  SOFTLOOKUP_ASSIGN_OR_RETURN(results.learning,
                              MeasureLookupLearning({.draws = learning_draws,
                                                     .steps = learning_steps,
                                                     .seed = stream_seed}));
  return run;
}

void PrintLine(const std::string& line) { std::puts(line.c_str()); }
void PrintTable(const Table& table) {
  std::fputs(table.ToString().c_str(), stdout);
}

// A number with three decimals.
std::string Number(double number) { return Fixed(number, 3); }

// "4.760 (3.1 to 5.2)".
std::string MeanText(const MeanAndRange& effect) {
  return absl::StrCat(Number(effect.mean), " (", Number(effect.smallest),
                      " to ", Number(effect.largest), ")");
}

void PrintHistoricalScores(const HistoricalScoresResults& found) {
  const ScoreDeviations<MeanAndRange>& deviations = found.deviations;
  PrintLine(
      "Where it began: scores between a decoder's state and an "
      "encoder's positions");
  PrintLine(absl::StrCat("(", found.draws, " draws of ", found.decoder_steps,
                         " decoder and ", found.positions,
                         " encoder states of width ", found.width, ")."));
  Table scores({"score", "from its formula", "from linearity in s",
                "largest rank of all scores"});
  scores.AddRow({"additive, v.tanh(W s + U h)",
                 Fixed(deviations.from_formula.additive.largest, 2),
                 Fixed(deviations.from_linearity.additive.mean, 2),
                 absl::StrCat(found.largest_rank.additive)});
  scores.AddRow({"dot, s.h", Fixed(deviations.from_formula.dot.largest, 2),
                 Fixed(deviations.from_linearity.dot.largest, 2),
                 absl::StrCat(found.largest_rank.dot)});
  scores.AddRow({"bilinear, s.W h",
                 Fixed(deviations.from_formula.bilinear.largest, 2),
                 Fixed(deviations.from_linearity.bilinear.largest, 2),
                 absl::StrCat(found.largest_rank.bilinear)});
  PrintTable(scores);
  PrintLine(
      "The multiplicative scores of all pairs are one matrix product: "
      "linear in s, of rank");
  PrintLine("at most the width. The additive score is neither.");
  PrintLine(absl::StrCat(
      "The context vector is the weighted sum of the encoder states within ",
      Fixed(deviations.context_from_weighted_sum.largest, 2), "."));
  PrintLine(absl::StrCat("Its weights change with the decoder's state, by ",
                         MeanText(deviations.weight_change_by_decoder_state),
                         ".\n"));
}

void PrintLookups(const SoftLookupResults& results) {
  const HardAnswers& hard = results.hard;
  const SoftAnswers& soft = results.soft;
  PrintLine("A table of three entries:");
  Table entries({"entry", "key", "value", "score q.k", "over sqrt(2)"});
  for (size_t j = 0; j < results.table.size(); ++j) {
    const LookupEntry& entry = results.table[j];
    entries.AddRow({entry.name, Tuple(entry.key, 0), Tuple(entry.value, 0),
                    Number(soft.scores[j]), Number(soft.scaled_scores[j])});
  }
  PrintTable(entries);
  PrintLine("");
  Table lookups({"lookup", "query", "weights (pump, valve, tank)", "answer"});
  lookups.AddRow({"hard, hit", absl::StrCat("\"", hard.hit, "\""),
                  "one exact match", Tuple(hard.hit_value.value(), 0)});
  lookups.AddRow(
      {"hard, miss", absl::StrCat("\"", hard.miss, "\""), "none", "not found"});
  lookups.AddRow(
      {"soft", Tuple(soft.query, 1), Tuple(soft.weights), Tuple(soft.output)});
  lookups.AddRow({"soft, no equal key", Tuple(soft.partial_match.query, 1),
                  Tuple(soft.partial_match.weights),
                  Tuple(soft.partial_match.output)});
  PrintTable(lookups);
  PrintLine(absl::StrCat(
      "Names that are nearly in the table and found: ", hard.near_misses_found,
      " of ", hard.near_misses.size(), "."));
  PrintLine(absl::StrCat(
      "Better matches with a smaller weight, over ", soft.order.queries,
      " queries: ", soft.order.violations, " (with scores reversed: ",
      soft.order.violations_with_reversed_scores, ")."));
}

void PrintFactors(const FactorResults& results,
                  const OverflowResults& overflow) {
  PrintLine("\nAll scores multiplied by c:");
  Table factors(
      {"c", "weights", "answer", "distance to hard", "distance to mean"});
  for (const FactorPoint& point : results.sweep) {
    // Whole decades only; the file has the rest.
    const double decade = point.factor > 0 ? Log(point.factor) / Log(10.0) : 0;
    if (std::abs(decade - std::round(decade)) > 1e-9) continue;
    factors.AddRow({absl::StrCat(point.factor), Tuple(point.weights),
                    Tuple(point.output), Number(point.distance_to_hard),
                    Number(point.distance_to_mean)});
  }
  PrintTable(factors);
  PrintLine(
      absl::StrCat("At c = ", Fixed(overflow.factor, 0),
                   " the exponentials overflow: weights that are not finite ",
                   overflow.not_finite_without_subtraction));
  PrintLine(absl::StrCat(
      "of 3, or ", overflow.not_finite_with_subtraction,
      " when the largest score is subtracted first (which at c = 1"));
  PrintLine(absl::StrCat("changes no weight by more than ",
                         Fixed(overflow.change_by_subtraction_at_factor_1, 2),
                         ")."));
}

void PrintSlopes(const SlopeResults& found, const PathResults& path) {
  PrintLine("\nWhat gradient descent has to work with:");
  Table slopes({"", "hard", "soft"});
  slopes.AddRow({"largest slope in the query", Number(found.hard_query),
                 Number(found.soft_query)});
  slopes.AddRow({"in the keys", "", Number(found.soft_keys)});
  slopes.AddRow({"in the values", "", Number(found.soft_values)});
  slopes.AddRow(
      {"steps of the path without any change",
       absl::StrCat(path.hard_steps_without_change, " of ", path.steps),
       absl::StrCat(path.soft_steps_without_change, " of ", path.steps)});
  slopes.AddRow({"other steps of the path",
                 absl::StrCat(path.hard_jumps, " jumps of at least ",
                              Number(path.hard_smallest_jump)),
                 absl::StrCat("at most ", Fixed(path.soft_largest_step, 4))});
  PrintTable(slopes);
}

void PrintLearning(const LookupLearningResults& learning) {
  const LearningEffects<MeanAndRange>& effects = learning.effects;
  PrintLine(absl::StrCat("\nLearning where to look: ", learning.steps,
                         " steps of descent on W_Q and W_K, ", learning.tokens,
                         " tokens that each want the next"));
  PrintLine(absl::StrCat("one's value; mean (range) over ", learning.draws,
                         " draws."));
  Table learned({"", "hard", "soft"});
  learned.AddRow({"gradient of W_Q, W_K at the start",
                  MeanText(effects.hard_query_or_key_gradient),
                  MeanText(effects.soft_query_or_key_gradient)});
  learned.AddRow({"loss, last over first",
                  MeanText(effects.hard_loss_last_over_first),
                  MeanText(effects.soft_loss_last_over_first)});
  learned.AddRow({"weight on the wanted token, first", "",
                  MeanText(effects.soft_weight_on_wanted_before)});
  learned.AddRow({"weight on the wanted token, last", "",
                  MeanText(effects.soft_weight_on_wanted_after)});
  PrintTable(learned);
}

void Print(const ExperimentRun<SoftLookupResults>& run) {
  const SoftLookupResults& results = run.results;
  PrintHistoricalScores(results.historical_scores);
  PrintLookups(results);
  PrintFactors(results.factor, results.overflow);
  PrintSlopes(results.slopes, results.path);
  PrintLearning(results.learning);
}

}  // namespace
}  // namespace softlookup

int main(int argc, char** argv) {
  return softlookup::ExperimentMain<softlookup::SoftLookupResults>(
      argc, argv,
      {.name = "soft_lookup",
       .question = "What does attention return when a dictionary would find "
                   "an exact match or nothing?",
       .run = softlookup::Run,
       .print = softlookup::Print});
}
