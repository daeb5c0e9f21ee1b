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
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "attention/attention.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/table.h"
#include "experiments/frame/experiment.h"
#include "experiments/frame/experiment_parameters.h"
#include "experiments/saturation/jacobian.h"
#include "experiments/saturation/rows.h"
#include "experiments/saturation/scores.h"
#include "experiments/saturation/training.h"

// The parameters.
ABSL_FLAG(uint64_t, seed, 1, "Seed of all random streams.");
ABSL_FLAG(int64_t, keys, 16, "Keys per row.");
ABSL_FLAG(int64_t, width, 128, "Width of the head whose rows are drawn, d_k.");
ABSL_FLAG(int64_t, draws, 5000,
          "Random rows, and random scores per width; a multiple of --blocks.");
ABSL_FLAG(int64_t, blocks, 20,
          "Replicates that the draws are cut into for standard errors.");
ABSL_FLAG(int64_t, sweep_draws, 600,
          "Random rows per width of the sweep; a multiple of --blocks.");
ABSL_FLAG(int64_t, largest_width, 512,
          "The sweeps go over powers of two up to this width.");
ABSL_FLAG(int64_t, model_width, 512,
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
      CheckParameter("width", absl::GetFlag(FLAGS_width), 1, 4096));
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
      absl::GetFlag(FLAGS_draws) * absl::GetFlag(FLAGS_width),
      absl::GetFlag(FLAGS_sweep_draws) * absl::GetFlag(FLAGS_largest_width));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckMemory("the keys of all random rows",
                  3 * 8 * entries * absl::GetFlag(FLAGS_keys)));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckParameter("model_width", absl::GetFlag(FLAGS_model_width), 2, 4096));
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

// sqrt(d_k) as the divisor that attention uses, and its ratios.
Json MeasureDivisors(int64_t width) {
  const double wide = 1 / AttentionScale({}, width);
  const double narrow = 1 / AttentionScale({}, 2);
  return {{"width", width},
          {"divisor", wide},
          {"divisor_at_width_2", narrow},
          {"ratio", wide / narrow}};
}

Json MeasureAllProjections(uint64_t seed, int64_t width) {
  ProjectionOptions options = {.replicates = absl::GetFlag(FLAGS_projections),
                               .tokens = absl::GetFlag(FLAGS_projected_tokens),
                               .model_width = absl::GetFlag(FLAGS_model_width),
                               .head_width = width,
                               .seed = seed};
  Json projections;
  projections["normalised"] = MeasureProjections(options);
  options.normalise = false;
  projections["not_normalised"] = MeasureProjections(options);
  return projections;
}

absl::StatusOr<ExperimentRun<Json>> Run() {
  SOFTLOOKUP_RETURN_IF_ERROR(CheckParameters());
  const uint64_t seed = absl::GetFlag(FLAGS_seed);
  const int64_t keys = absl::GetFlag(FLAGS_keys);
  const int64_t width = absl::GetFlag(FLAGS_width);
  ExperimentRun<Json> run;
  run.results["divisors"] = MeasureDivisors(width);
  run.results["scores"] =
      MeasureScoreSpread({.draws = absl::GetFlag(FLAGS_draws),
                          .largest_width = absl::GetFlag(FLAGS_largest_width),
                          .seed = seed});
  run.results["projections"] = MeasureAllProjections(seed, width);
  run.results["jacobian"] =
      MeasureJacobian({.rows = 1000, .keys = keys, .seed = seed});
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      run.results["rows"],
      MeasureSaturation({.draws = absl::GetFlag(FLAGS_draws),
                         .keys = keys,
                         .width = width,
                         .blocks = absl::GetFlag(FLAGS_blocks),
                         .sweep_draws = absl::GetFlag(FLAGS_sweep_draws),
                         .largest_width = absl::GetFlag(FLAGS_largest_width),
                         .seed = seed}));
  run.results["training"] =
      MeasureTraining({.replicates = absl::GetFlag(FLAGS_trainings),
                       .steps = absl::GetFlag(FLAGS_training_steps),
                       .head_width = width,
                       .descent_rate = absl::GetFlag(FLAGS_descent_rate),
                       .adam_rate = absl::GetFlag(FLAGS_adam_rate),
                       .seed = seed});
  return run;
}

double Number(const Json& json) { return json.get<double>(); }

// "11.32 ± 0.11".
std::string WithError(const Json& estimate, int decimals) {
  return absl::StrFormat("%.*f ± %.*f", decimals, Number(estimate["value"]),
                         decimals, Number(estimate["standard_error"]));
}

// "4.4 (3.9 to 5.1)".
std::string WithInterval(const Json& estimate, int decimals) {
  return absl::StrCat(Fixed(Number(estimate["value"]), decimals), " (",
                      Fixed(Number(estimate["interval"][0]), decimals), " to ",
                      Fixed(Number(estimate["interval"][1]), decimals), ")");
}

void PrintTable(const std::string& title, const Table& table) {
  std::printf("%s\n%s\n", title.c_str(), table.ToString().c_str());
}

void PrintScores(const Json& results) {
  Table scores({"d_k", "entries", "mean", "variance", "standard deviation",
                "variance, scaled"});
  for (const std::string kind : {"gaussian", "uniform", "signs"}) {
    for (const auto& [width, at] : results["scores"][kind].items()) {
      scores.AddRow({width, kind, WithError(at["mean"], 3),
                     WithError(at["variance"], 2),
                     WithError(at["standard_deviation"], 2),
                     WithError(at["scaled_variance"], 3)});
    }
  }
  PrintTable(
      "Scores q . k of independent entries with mean 0 and variance 1 "
      "(± one standard error).\nThe variance is the width, whatever the "
      "entries' distribution; scaled, it is 1:",
      scores);
  const Json& divisors = results["divisors"];
  std::printf(
      "The divisor sqrt(d_k) is %s at d_k = %d and %s at 2, %s times "
      "less.\n\n",
      Fixed(Number(divisors["divisor"]), 2).c_str(),
      divisors["width"].get<int>(),
      Fixed(Number(divisors["divisor_at_width_2"]), 2).c_str(),
      Fixed(Number(divisors["ratio"]), 2).c_str());

  Table projections({"inputs", "mean square of an input", "variance of q",
                     "variance of k", "variance of a scaled score"});
  for (const auto& [name, text] :
       {std::pair<std::string, std::string>{"normalised", "normalised"},
        {"not_normalised", "as they are"}}) {
    const Json& found = results["projections"][name];
    projections.AddRow({text,
                        Fixed(Number(found["input_mean_square"]["value"]), 3),
                        WithError(found["query_entry_variance"], 3),
                        WithError(found["key_entry_variance"], 3),
                        WithError(found["scaled_score_variance"], 2)});
  }
  PrintTable("After projections whose weights have variance 1 / d:",
             projections);
}

void PrintJacobian(const Json& jacobian) {
  Table curve({"c", "largest weight", "trace of J", "largest entry of J"});
  const Json& points = jacobian["curve"];
  for (size_t i = 0; i < points.size(); i += 10) {
    curve.AddRow({Fixed(Number(points[i]["factor"]), 0),
                  Fixed(Number(points[i]["largest_weight"]), 4),
                  Fixed(Number(points[i]["trace"]), 4),
                  Fixed(Number(points[i]["largest_entry"]), 4)});
  }
  PrintTable(
      "The softmax Jacobian J of a row of evenly spaced scores of variance 1, "
      "multiplied by c, from\nuniform to one-hot. Its trace, 1 - sum p^2, only "
      "falls:",
      curve);
  Table identities({"over 1000 random rows", "largest"});
  for (const auto& [name, text] :
       std::vector<std::pair<std::string, std::string>>{
           {"row_sum", "|row sum of J|"},
           {"asymmetry", "|J - its transpose|"},
           {"shift", "change of p when all scores grow by 100"},
           {"complex_step", "|J - complex-step derivative of the softmax|"},
           {"trace_formula", "|trace - (1 - sum p^2)|"},
           {"entry_over_rest", "entry of J - weight of all but the best key"},
           {"trace_over_uniform", "trace - the uniform row's trace"}}) {
    identities.AddRow({text, Fixed(Number(jacobian[name]), 4)});
  }
  PrintTable("Its properties:", identities);
}

void PrintRows(const Json& rows) {
  Table softmax({"", "unscaled", "scaled", "QK-normalised", "uniform"});
  const auto add = [&softmax, &rows](const std::string& text,
                                     const std::string& measure,
                                     const std::string& statistic,
                                     const std::string& uniform) {
    std::vector<std::string> cells = {text};
    for (const std::string kind : {"unscaled", "scaled", "qk_normalised"}) {
      cells.push_back(WithError(rows[kind][measure][statistic], 3));
    }
    cells.push_back(uniform);
    softmax.AddRow(cells);
  };
  add("largest weight, median", "largest_weight", "median",
      Fixed(Number(rows["uniform"]["largest_weight"]["median"]["value"]), 3));
  add("entropy in nats, mean", "entropy", "mean",
      Fixed(Number(rows["uniform"]["entropy"]["mean"]["value"]), 3));
  add("trace of J, median", "jacobian_trace", "median",
      Fixed(Number(rows["uniform"]["jacobian_trace"]["median"]["value"]), 3));
  add("size of J (Frobenius), median", "jacobian_norm", "median", "");
  add("|J g|, median", "score_gradient", "median", "");
  add("|J g|, mean", "score_gradient", "mean", "");
  add("|dL/dq|, median", "query_gradient", "median", "");
  add("|dL/dq|, mean", "query_gradient", "mean", "");
  PrintTable(
      "Random rows, one query against all keys (± one standard error). |J g| "
      "is the length of\ndL/ds for a random g = dL/dp of standard normals; no "
      "g of length 1 has a longer J g than\nthe Frobenius norm of J:",
      softmax);

  Table gaps({"gap of the best unscaled score", "median", "10 or more"});
  for (const auto& [name, text] :
       std::vector<std::pair<std::string, std::string>>{
           {"gap_to_runner_up", "to the runner-up"},
           {"gap_to_each", "to each of the others"},
           {"gap_to_mean_rest", "to the mean of the others"}}) {
    const Json& gap = rows["unscaled"][name];
    gaps.AddRow({text, WithError(gap["median"], 2),
                 WithError(gap["fraction_at_least_10"], 3)});
  }
  PrintTable("How far the best key stands out:", gaps);

  Table sweep({"d_k", "largest weight, unscaled", "scaled",
               "|J g|, unscaled over scaled, medians"});
  for (const auto& [width, at] : rows["by_width"].items()) {
    sweep.AddRow(
        {width, WithError(at["unscaled"]["largest_weight"]["median"], 3),
         WithError(at["scaled"]["largest_weight"]["median"], 3),
         WithError(at["unscaled_over_scaled"]["score_gradient"]["median"], 3)});
  }
  PrintTable("Over the width:", sweep);

  Table enlarged({"queries and keys", "spread of scores", "entropy lost",
                  "spread of QK-normalised scores"});
  for (const auto& [name, at] : rows["enlarged"].items()) {
    enlarged.AddRow(
        {name, absl::StrCat("x ", Fixed(Number(at["spread_growth"]), 2)),
         WithError(at["entropy_lost"], 3),
         absl::StrCat("x ",
                      Fixed(Number(at["qk_normalised_spread_growth"]), 2))});
  }
  PrintTable("When W_Q and W_K grow, scaled rows:", enlarged);
}

void PrintTraining(const Json& training) {
  std::printf(
      "A head learns to find a query's partner among its keys (only W_Q and "
      "W_K learn).\n\"unscaled start\" has the scale, but larger weights that "
      "undo it at the start. Steps to\n%.0f %% of partners found, relative to "
      "the scaled model (with 4 standard errors):\n",
      100 * Number(training["accuracy_sought"]));
  Table speed({"optimiser", "model", "steps", "slowdown at the same rate",
               "each at its best rate"});
  for (const auto& [optimiser, optimiser_text] :
       {std::pair<std::string, std::string>{"gradient_descent",
                                            "gradient descent"},
        {"adam", "Adam"}}) {
    const Json& found = training[optimiser];
    for (const auto& [model, text] :
         std::vector<std::pair<std::string, std::string>>{
             {"scaled", "scaled"},
             {"unscaled", "unscaled"},
             {"unscaled_start", "unscaled start"}}) {
      double steps = 0;
      for (const Json& count : found[model]["steps_to_accuracy"]) {
        steps += Number(count) /
                 static_cast<double>(found[model]["steps_to_accuracy"].size());
      }
      const bool reference = model == "scaled";
      speed.AddRow({optimiser_text, text, Fixed(steps, 1),
                    reference ? "1" : WithInterval(found["slowdown"][model], 2),
                    reference
                        ? "1"
                        : WithInterval(found["best_rate_slowdown"][model], 2)});
    }
    speed.AddRow({optimiser_text, "scaled, other weights", "",
                  WithInterval(found["slowdown"]["scaled_again"], 2), ""});
  }
  std::printf("%s\n", speed.ToString().c_str());
  std::printf(
      "Plain gradient descent at the same rate is the exception: without the "
      "scale the scores\ndepend sqrt(d_k) times as strongly on the weights, "
      "and dL/dW_Q starts\n%s times as long, in spite of the saturation.\n\n",
      WithInterval(training["query_weight_gradient_ratio"], 1).c_str());

  const Json& sharpening = training["sharpening"];
  Table sharp(
      {"scaled model, gradient descent", "with partners to find", "control"});
  sharp.AddRow({"entropy lost in training",
                WithError(sharpening["entropy_lost"]["partner"], 3),
                WithError(sharpening["entropy_lost"]["random"], 3) +
                    " (random targets)"});
  sharp.AddRow({"loss saved by the learned sharpness",
                WithError(sharpening["benefit"]["trained"], 3),
                WithError(sharpening["benefit"]["untrained"], 3) +
                    " (untrained weights)"});
  PrintTable("The scale does not keep the model from sharpening:", sharp);
}

void Print(const ExperimentRun<Json>& run) {
  PrintScores(run.results);
  PrintJacobian(run.results["jacobian"]);
  PrintRows(run.results["rows"]);
  PrintTraining(run.results["training"]);
}

}  // namespace
}  // namespace softlookup

int main(int argc, char** argv) {
  return softlookup::ExperimentMain<softlookup::Json>(
      argc, argv,
      {.name = "saturation",
       .question = "What does the scale of the scores do to the softmax and "
                   "to learning?",
       .run = softlookup::Run,
       .print = softlookup::Print});
}
