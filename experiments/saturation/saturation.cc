// Saturation: what the scale of the scores does to the softmax.
//
// The chapter, section 2 and experiment 1: the spread of q . k over the head
// width, for three kinds of entries and after projections; rows of 16 random
// keys with and without the division by sqrt(d_k), and with QK normalisation;
// the softmax Jacobian from uniform to one-hot; and a model that has to learn
// from a saturated start.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/memory.h"
#include "base/statistics/estimate.h"
#include "base/status.h"
#include "base/table.h"
#include "experiments/frame/experiment.h"
#include "experiments/frame/experiment_parameters.h"
#include "experiments/saturation/results.h"

// The parameters.
ABSL_FLAG(uint64_t, seed, 1, "Seed of all random streams.");
ABSL_FLAG(int64_t, keys, 16, "Keys per row.");
ABSL_FLAG(int64_t, d_head, 128, "Width of the head whose rows are drawn, d_k.");
ABSL_FLAG(int64_t, draws, 5000,
          "Random rows, and random scores per width; a multiple of --blocks.");
ABSL_FLAG(int64_t, blocks, 20,
          "Replicates that the draws are cut into for standard errors.");
ABSL_FLAG(int64_t, sweep_draws, 600,
          "Random rows per width of the sweep; a multiple of --blocks.");
ABSL_FLAG(int64_t, largest_width, 512,
          "The sweeps go over powers of two up to this width.");
ABSL_FLAG(int64_t, d_model, 512,
          "Width of the normalised inputs that are projected.");
ABSL_FLAG(int64_t, projections, 20,
          "Random pairs of projections, each with inputs of its own.");
ABSL_FLAG(int64_t, projected_tokens, 16, "Inputs per pair of projections.");
ABSL_FLAG(int64_t, trainings, 8,
          "Times that each model is trained, each with data of its own.");
ABSL_FLAG(int64_t, training_steps, 80, "Steps of a training.");
ABSL_FLAG(double, descent_rate, 1.5, "Learning rate of gradient descent.");
ABSL_FLAG(double, adam_rate, 0.01, "Learning rate of Adam.");

namespace softlookup {
namespace {

absl::Status CheckParameters() {
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckParameter("keys", absl::GetFlag(FLAGS_keys), 2, 4096));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckParameter("d_head", absl::GetFlag(FLAGS_d_head), 1, 4096));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckParameter("blocks", absl::GetFlag(FLAGS_blocks), 2, 1000));
  for (const auto& [name, value] :
       {std::pair<std::string, int64_t>{"draws", absl::GetFlag(FLAGS_draws)},
        {"sweep_draws", absl::GetFlag(FLAGS_sweep_draws)}}) {
    SOFTLOOKUP_RETURN_IF_ERROR(CheckParameter(name, value, 4, 1000000));
    if (value % absl::GetFlag(FLAGS_blocks) != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--", name, " is ", value,
          "; allowed: multiples of --blocks = ", absl::GetFlag(FLAGS_blocks)));
    }
  }
  SOFTLOOKUP_RETURN_IF_ERROR(CheckParameter(
      "largest_width", absl::GetFlag(FLAGS_largest_width), 2, 4096));
  // The keys' entries, with two changed copies beside them.
  const int64_t entries = std::max(
      absl::GetFlag(FLAGS_draws) * absl::GetFlag(FLAGS_d_head),
      absl::GetFlag(FLAGS_sweep_draws) * absl::GetFlag(FLAGS_largest_width));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckMemory("the keys of all random rows",
                  3 * 8 * entries * absl::GetFlag(FLAGS_keys)));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckParameter("d_model", absl::GetFlag(FLAGS_d_model), 2, 4096));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckParameter("projections", absl::GetFlag(FLAGS_projections), 2, 1000));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckParameter(
      "projected_tokens", absl::GetFlag(FLAGS_projected_tokens), 1, 1000));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckParameter("trainings", absl::GetFlag(FLAGS_trainings), 2, 1000));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckParameter(
      "training_steps", absl::GetFlag(FLAGS_training_steps), 1, 10000));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckParameter(
      "descent_rate", absl::GetFlag(FLAGS_descent_rate), 1e-6, 1e3));
  return CheckParameter("adam_rate", absl::GetFlag(FLAGS_adam_rate), 1e-9, 1.0);
}

ProjectionOptions Projections(bool normalise) {
  return {.replicates = absl::GetFlag(FLAGS_projections),
          .tokens = absl::GetFlag(FLAGS_projected_tokens),
          .d_model = absl::GetFlag(FLAGS_d_model),
          .d_head = absl::GetFlag(FLAGS_d_head),
          .normalise = normalise,
          .seed = absl::GetFlag(FLAGS_seed)};
}

absl::StatusOr<ExperimentRun<SaturationResults>> Run() {
  SOFTLOOKUP_RETURN_IF_ERROR(CheckParameters());
  const uint64_t seed = absl::GetFlag(FLAGS_seed);
  const int64_t keys = absl::GetFlag(FLAGS_keys);
  const int64_t d_head = absl::GetFlag(FLAGS_d_head);
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      SaturationRows rows,
      MeasureSaturation({.draws = absl::GetFlag(FLAGS_draws),
                         .keys = keys,
                         .width = d_head,
                         .blocks = absl::GetFlag(FLAGS_blocks),
                         .sweep_draws = absl::GetFlag(FLAGS_sweep_draws),
                         .largest_width = absl::GetFlag(FLAGS_largest_width),
                         .seed = seed}));
  ExperimentRun<SaturationResults> run;
  run.results = {
      .divisors = MeasureDivisors(d_head),
      .scores = MeasureScoreSpread(
          {.draws = absl::GetFlag(FLAGS_draws),
           .largest_width = absl::GetFlag(FLAGS_largest_width),
           .seed = seed}),
      .projections_normalised = MeasureProjections(Projections(true)),
      .projections_not_normalised = MeasureProjections(Projections(false)),
      .jacobian = MeasureJacobian({.rows = 1000, .keys = keys, .seed = seed}),
      .rows = std::move(rows),
      .training =
          MeasureTraining({.replicates = absl::GetFlag(FLAGS_trainings),
                           .steps = absl::GetFlag(FLAGS_training_steps),
                           .d_head = d_head,
                           .descent_rate = absl::GetFlag(FLAGS_descent_rate),
                           .adam_rate = absl::GetFlag(FLAGS_adam_rate),
                           .seed = seed})};
  return run;
}

// "11.32 ± 0.11".
std::string WithError(const Estimate& estimate, int decimals) {
  return absl::StrFormat("%.*f ± %.*f", decimals, estimate.value, decimals,
                         estimate.standard_error);
}

// "4.4 (3.9 to 5.1)".
std::string WithInterval(const GeometricMean& mean, int decimals) {
  return absl::StrCat(Fixed(mean.value, decimals), " (",
                      Fixed(mean.low, decimals), " to ",
                      Fixed(mean.high, decimals), ")");
}

void PrintTable(const std::string& title, const Table& table) {
  std::printf("%s\n%s\n", title.c_str(), table.ToString().c_str());
}

void PrintScores(const SaturationResults& results) {
  Table scores({"d_k", "entries", "mean", "variance", "standard deviation",
                "variance, scaled"});
  for (const EntryKind& kind : results.scores.kinds) {
    for (const ScoresAtWidth& at : kind.by_width) {
      scores.AddRow({absl::StrCat(at.width), kind.name, WithError(at.mean, 3),
                     WithError(at.variance, 2),
                     WithError(at.standard_deviation, 2),
                     WithError(at.scaled_variance, 3)});
    }
  }
  PrintTable(
      "Scores q . k of independent entries with mean 0 and variance 1 "
      "(± one standard error).\nThe variance is the width, whatever the "
      "entries' distribution; scaled, it is 1:",
      scores);
  const Divisors& divisors = results.divisors;
  absl::PrintF(
      "The divisor sqrt(d_k) is %s at d_k = %d and %s at 2, %s times "
      "less.\n\n",
      Fixed(divisors.divisor, 2), divisors.width,
      Fixed(divisors.divisor_at_width_2, 2), Fixed(divisors.ratio, 2));

  Table projections({"inputs", "mean square of an input", "variance of q",
                     "variance of k", "variance of a scaled score"});
  const auto add = [&projections](const std::string& inputs,
                                  const ProjectionMoments& found) {
    projections.AddRow({inputs, Fixed(found.input_mean_square.value, 3),
                        WithError(found.query_entry_variance, 3),
                        WithError(found.key_entry_variance, 3),
                        WithError(found.scaled_score_variance, 2)});
  };
  add("normalised", results.projections_normalised);
  add("as they are", results.projections_not_normalised);
  PrintTable("After projections whose weights have variance 1 / d:",
             projections);
}

void PrintJacobian(const JacobianResults& jacobian) {
  Table curve({"c", "largest weight", "trace of J", "largest entry of J"});
  for (size_t i = 0; i < jacobian.curve.size(); i += 10) {
    const JacobianPoint& point = jacobian.curve[i];
    curve.AddRow({Fixed(point.factor, 0), Fixed(point.largest_weight, 4),
                  Fixed(point.trace, 4), Fixed(point.largest_entry, 4)});
  }
  PrintTable(
      "The softmax Jacobian J of a row of evenly spaced scores of variance 1, "
      "multiplied by c, from\nuniform to one-hot. Its trace, 1 - sum p^2, only "
      "falls:",
      curve);
  Table identities({"over 1000 random rows", "largest"});
  const JacobianDeviations& drawn = jacobian.drawn;
  for (const auto& [text, largest] :
       std::vector<std::pair<std::string, double>>{
           {"|row sum of J|", drawn.row_sum},
           {"|J - its transpose|", drawn.asymmetry},
           {"change of p when all scores grow by 100", drawn.shift},
           {"|J - complex-step derivative of the softmax|", drawn.complex_step},
           {"|trace - (1 - sum p^2)|", drawn.trace_formula},
           {"entry of J - weight of all but the best key",
            drawn.entry_over_rest},
           {"trace - the uniform row's trace", drawn.trace_over_uniform}}) {
    identities.AddRow({text, Fixed(largest, 4)});
  }
  PrintTable("Its properties:", identities);
}

void PrintRows(const SaturationRows& rows) {
  Table softmax({"", "unscaled", "scaled", "QK-normalised", "uniform"});
  using Kind = DetailedRowSummary;
  const auto add = [&softmax, &rows](const std::string& text,
                                     MeanAndMedian Kind::*measure,
                                     Estimate MeanAndMedian::*statistic,
                                     const std::string& uniform = "") {
    std::vector<std::string> cells = {text};
    for (const Kind* kind :
         {&rows.unscaled, &rows.scaled, &rows.qk_normalised}) {
      cells.push_back(WithError(kind->*measure.*statistic, 3));
    }
    cells.push_back(uniform);
    softmax.AddRow(cells);
  };
  constexpr auto kMean = &MeanAndMedian::mean;
  constexpr auto kMedian = &MeanAndMedian::median;
  add("largest weight, median", &Kind::largest_weight, kMedian,
      Fixed(rows.uniform.largest_weight.median.value, 3));
  add("entropy in nats, mean", &Kind::entropy, kMean,
      Fixed(rows.uniform.entropy.mean.value, 3));
  add("trace of J, median", &Kind::jacobian_trace, kMedian,
      Fixed(rows.uniform.jacobian_trace.median.value, 3));
  add("size of J (Frobenius), median", &Kind::jacobian_norm, kMedian);
  add("|J g|, median", &Kind::score_gradient, kMedian);
  add("|J g|, mean", &Kind::score_gradient, kMean);
  add("|dL/dq|, median", &Kind::query_gradient, kMedian);
  add("|dL/dq|, mean", &Kind::query_gradient, kMean);
  PrintTable(
      "Random rows, one query against all keys (± one standard error). |J g| "
      "is the length of\ndL/ds for a random g = dL/dp of standard normals; no "
      "g of length 1 has a longer J g than\nthe Frobenius norm of J:",
      softmax);

  Table gaps({"gap of the best unscaled score", "median", "10 or more"});
  const auto add_gap = [&gaps](const std::string& text, const GapSummary& gap) {
    gaps.AddRow({text, WithError(gap.median, 2),
                 WithError(gap.fraction_at_least_10, 3)});
  };
  add_gap("to the runner-up", rows.unscaled.gap_to_runner_up);
  add_gap("to each of the others", rows.unscaled.gap_to_each);
  add_gap("to the mean of the others", rows.unscaled.gap_to_mean_rest);
  PrintTable("How far the best key stands out:", gaps);

  Table sweep({"d_k", "largest weight, unscaled", "scaled",
               "|J g|, unscaled over scaled, medians"});
  for (const RowsAtWidth& at : rows.by_width) {
    sweep.AddRow({absl::StrCat(at.width),
                  WithError(at.unscaled.largest_weight.median, 3),
                  WithError(at.scaled.largest_weight.median, 3),
                  WithError(at.unscaled_over_scaled.score_gradient.median, 3)});
  }
  PrintTable("Over the width:", sweep);

  Table enlarged({"queries and keys", "spread of scores", "entropy lost",
                  "spread of QK-normalised scores"});
  for (const EnlargedRows& at : rows.enlarged) {
    enlarged.AddRow(
        {at.name, absl::StrCat("x ", Fixed(at.spread_growth, 2)),
         WithError(at.entropy_lost, 3),
         absl::StrCat("x ", Fixed(at.qk_normalised_spread_growth, 2))});
  }
  PrintTable("When W_Q and W_K grow, scaled rows:", enlarged);
}

void PrintTraining(const TrainingResults& training) {
  std::printf(
      "A head learns to find a query's partner among its keys (only W_Q and "
      "W_K learn).\n\"unscaled start\" has the scale, but larger weights that "
      "undo it at the start. Steps to\n%.0f %% of partners found, relative to "
      "the scaled model (with 4 standard errors):\n",
      100 * training.accuracy_sought);
  Table speed({"optimiser", "model", "steps", "slowdown at the same rate",
               "each at its best rate"});
  const auto add = [&speed](const std::string& optimiser,
                            const SpeedComparison& found) {
    const auto steps = [](const ModelRuns& runs) {
      return Fixed(Mean(runs.steps_to_accuracy), 1);
    };
    speed.AddRow({optimiser, "scaled", steps(found.scaled), "1", "1"});
    for (const auto& [text, runs] :
         {std::pair<std::string, const ModelRuns&>{"unscaled", found.unscaled},
          {"unscaled start", found.unscaled_start}}) {
      speed.AddRow({optimiser, text, steps(runs),
                    WithInterval(runs.slowdown, 2),
                    WithInterval(runs.best_rate_slowdown, 2)});
    }
    speed.AddRow({optimiser, "scaled, other weights", "",
                  WithInterval(found.scaled_again, 2), ""});
  };
  add("gradient descent", training.gradient_descent);
  add("Adam", training.adam);
  std::printf("%s\n", speed.ToString().c_str());
  std::printf(
      "Plain gradient descent at the same rate is the exception: without the "
      "scale the scores\ndepend sqrt(d_k) times as strongly on the weights, "
      "and dL/dW_Q starts\n%s times as long, in spite of the saturation.\n\n",
      WithInterval(training.query_weight_gradient_ratio, 1).c_str());

  const Sharpening& sharpening = training.sharpening;
  Table sharp(
      {"scaled model, gradient descent", "with partners to find", "control"});
  sharp.AddRow(
      {"entropy lost in training",
       WithError(sharpening.entropy_lost_partner, 3),
       WithError(sharpening.entropy_lost_random, 3) + " (random targets)"});
  sharp.AddRow(
      {"loss saved by the learned sharpness",
       WithError(sharpening.benefit_trained, 3),
       WithError(sharpening.benefit_untrained, 3) + " (untrained weights)"});
  PrintTable("The scale does not keep the model from sharpening:", sharp);
}

void Print(const ExperimentRun<SaturationResults>& run) {
  PrintScores(run.results);
  PrintJacobian(run.results.jacobian);
  PrintRows(run.results.rows);
  PrintTraining(run.results.training);
}

}  // namespace
}  // namespace softlookup

int main(int argc, char** argv) {
  return softlookup::ExperimentMain<softlookup::SaturationResults>(
      argc, argv,
      {.name = "saturation",
       .question = "What does the scale of the scores do to the softmax and "
                   "to learning?",
       .run = softlookup::Run,
       .print = softlookup::Print});
}
