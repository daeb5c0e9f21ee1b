// Soft lookup: attention as a dictionary that returns weighted averages.
//
// The chapter, section 1: a table of three entries is asked for one of them,
// first by equality (a hard lookup), then by the softmax of scaled dot
// products (a soft one). Measured: both answers; the soft one as all scores
// are multiplied by a factor c, from a plain average to the hard answer; and
// both along a path of queries, where the hard answer stands still or jumps
// while the soft one has a gradient at every point.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "attention/attention.h"
#include "attention/reference/attention_reference.h"
#include "base/elementary.h"
#include "base/json.h"
#include "base/status.h"
#include "base/tensor.h"
#include "experiments/experiment.h"
#include "experiments/knobs.h"
#include "experiments/table.h"

// The knobs. The table itself is the chapter's listing.
ABSL_FLAG(double, query_x, 1.0, "First component of the query.");
ABSL_FLAG(double, query_y, 1.0, "Second component of the query.");
ABSL_FLAG(double, largest_factor, 10000.0,
          "The largest factor c that multiplies all scores.");
ABSL_FLAG(int64_t, factors_per_decade, 24,
          "Factors c per power of ten in the sweep.");
ABSL_FLAG(int64_t, path_steps, 400,
          "Queries on the path from -45 to 135 degrees.");

namespace softlookup {
namespace {

using Vector2 = std::array<double, 2>;

struct Entry {
  std::string name;
  Vector2 key;
  Vector2 value;
};

const std::vector<Entry>& Entries() {
  static const auto& entries = *new std::vector<Entry>{
      {"pump", {1, 0}, {1, 0}},
      {"valve", {0, 1}, {0, 2}},
      {"tank", {1, 1}, {3, 3}},
  };
  return entries;
}

// The entries' keys or values as [1, 1, 3, 2].
Tensor<double> Stack(Vector2 Entry::*member) {
  std::vector<double> rows;
  for (const Entry& entry : Entries()) {
    for (const double x : entry.*member) rows.push_back(x);
  }
  return Tensor<double>({1, 1, static_cast<int64_t>(Entries().size()), 2},
                        std::move(rows));
}

// A hard lookup by name: the value under an equal key, or nothing.
std::optional<Vector2> HardLookup(const std::string& name) {
  std::map<std::string, Vector2> table;
  for (const Entry& entry : Entries()) table[entry.name] = entry.value;
  const auto found = table.find(name);
  if (found == table.end()) return std::nullopt;
  return found->second;
}

// The hard limit of a soft lookup: the index of the key with the largest dot
// product; the first of equals.
size_t BestKey(const Vector2& query) {
  const auto score = [&query](const Entry& entry) {
    return query[0] * entry.key[0] + query[1] * entry.key[1];
  };
  const auto best = std::max_element(
      Entries().begin(), Entries().end(),
      [&score](const Entry& a, const Entry& b) { return score(a) < score(b); });
  return static_cast<size_t>(best - Entries().begin());
}

struct SoftAnswer {
  std::vector<double> weights;
  Vector2 output;
  // d(output_c)/d(query_x) at [c][x].
  std::array<Vector2, 2> query_jacobian;
  // Largest absolute entry of d(output_1)/d(keys), d(output_1)/d(values).
  double key_gradient;
  double value_gradient;
};

double LargestMagnitude(const Tensor<double>& tensor) {
  double largest = 0;
  for (const double x : tensor.elements()) {
    largest = std::max(largest, std::abs(x));
  }
  return largest;
}

// softmax(factor q K^T / sqrt(2)) V and its derivatives.
absl::StatusOr<SoftAnswer> SoftLookup(const Vector2& query, double factor) {
  const Tensor<double> q({1, 1, 1, 2}, {query[0], query[1]});
  const Tensor<double> keys = Stack(&Entry::key);
  const Tensor<double> values = Stack(&Entry::value);
  const AttentionInputs<double> inputs = {.query = q.view(),
                                          .key = keys.view(),
                                          .value = values.view(),
                                          .bias = std::nullopt,
                                          .mask = {}};
  const AttentionOptions options = {.scale = factor / std::sqrt(2.0),
                                    .fully_masked = FullyMasked::kZero,
                                    .weights = true};
  SOFTLOOKUP_ASSIGN_OR_RETURN(const AttentionOutputs<double> outputs,
                              reference::AttentionForward(inputs, options));
  SoftAnswer answer;
  answer.weights = outputs.weights->elements();
  answer.output = {outputs.output[0], outputs.output[1]};
  for (int component = 0; component < 2; ++component) {
    Tensor<double> selector({1, 1, 1, 2});
    selector[component] = 1;
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        const AttentionGradients<double> gradients,
        reference::AttentionBackward<double>(inputs, options,
                                             std::as_const(selector).view()));
    answer.query_jacobian[component] = {gradients.query[0], gradients.query[1]};
    answer.key_gradient = LargestMagnitude(gradients.key);
    answer.value_gradient = LargestMagnitude(gradients.value);
  }
  return answer;
}

double Distance(const Vector2& a, const Vector2& b) {
  return std::max(std::abs(a[0] - b[0]), std::abs(a[1] - b[1]));
}

// What is looked up, for whoever draws it.
Json DescribeEntries() {
  Json entries = Json::array();
  for (const Entry& entry : Entries()) {
    entries.push_back(
        {{"name", entry.name}, {"key", entry.key}, {"value", entry.value}});
  }
  return entries;
}

Json MeasureHard() {
  const std::optional<Vector2> hit = HardLookup("tank");
  const std::optional<Vector2> miss = HardLookup("gauge");
  Json hard;
  hard["hit"] = {{"query", "tank"}, {"found", hit.has_value() ? 1 : 0}};
  if (hit.has_value()) hard["hit"]["value"] = *hit;
  hard["miss"] = {{"query", "gauge"}, {"found", miss.has_value() ? 1 : 0}};
  return hard;
}

absl::StatusOr<Json> MeasureSoft(const Vector2& query) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const SoftAnswer answer, SoftLookup(query, 1));
  double sum = 0;
  for (const double weight : answer.weights) sum += weight;
  Json soft;
  soft["weights"] = answer.weights;
  soft["output"] = answer.output;
  soft["smallest_weight"] =
      *std::min_element(answer.weights.begin(), answer.weights.end());
  soft["weight_sum_deviation"] = std::abs(sum - 1);
  return soft;
}

absl::StatusOr<Json> MeasureFactors(const Vector2& query, double largest,
                                    int64_t per_decade) {
  // c = 0, then from 0.01 up in equal ratios, so that every decade (1 and 10
  // among them) is met exactly.
  std::vector<double> factors = {0};
  for (int64_t step = 0;; ++step) {
    const double decade = Pow(10.0, static_cast<double>(step / per_decade) - 2);
    const double within = Pow(10.0, static_cast<double>(step % per_decade) /
                                        static_cast<double>(per_decade));
    const double factor = step % per_decade == 0
                              ? std::round(decade * 100) / 100
                              : decade * within;
    if (factor > largest) break;
    factors.push_back(factor);
  }
  const Vector2& hard = Entries()[BestKey(query)].value;
  Vector2 mean = {0, 0};
  for (const Entry& entry : Entries()) {
    for (int c = 0; c < 2; ++c) {
      mean[c] += entry.value[c] / static_cast<double>(Entries().size());
    }
  }
  Json sweep = Json::array();
  for (const double factor : factors) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(const SoftAnswer answer,
                                SoftLookup(query, factor));
    sweep.push_back({{"factor", factor},
                     {"weights", answer.weights},
                     {"output", answer.output},
                     {"distance_to_hard", Distance(answer.output, hard)},
                     {"distance_to_mean", Distance(answer.output, mean)}});
  }
  SOFTLOOKUP_ASSIGN_OR_RETURN(const SoftAnswer ten, SoftLookup(query, 10));
  Json factor;
  factor["ten"] = {{"weights", ten.weights}, {"output", ten.output}};
  factor["hard_output"] = hard;
  factor["mean_output"] = mean;
  factor["zero"] = sweep.front();
  for (const Json& weight : sweep.front()["weights"]) {
    factor["zero"]["weight_deviations"].push_back(std::abs(
        weight.get<double>() - 1.0 / static_cast<double>(Entries().size())));
  }
  factor["largest"] = sweep.back();
  factor["sweep"] = std::move(sweep);
  return factor;
}

absl::StatusOr<Json> MeasurePath(int64_t steps) {
  constexpr double kPi = 3.141592653589793;
  // Central differences with this step have a truncation error of about
  // step^2 and a rounding error of about 1e-16 / step: together near 1e-10.
  constexpr double kDifferenceStep = 1e-5;
  const auto query_at = [](double angle) {
    return Vector2{std::sqrt(2.0) * Cos(angle), std::sqrt(2.0) * Sin(angle)};
  };
  Json degrees = Json::array();
  Json hard_outputs = Json::array();
  Json soft_outputs = Json::array();
  int64_t hard_still = 0;
  int64_t hard_jumps = 0;
  double smallest_jump = HUGE_VAL;
  double largest_soft_step = 0;
  double smallest_soft_slope = HUGE_VAL;
  double slope_deviation = 0;
  std::optional<Vector2> previous_hard;
  std::optional<Vector2> previous_soft;
  for (int64_t step = 0; step < steps; ++step) {
    const double angle =
        kPi *
        (static_cast<double>(step) / static_cast<double>(steps - 1) - 0.25);
    const Vector2 query = query_at(angle);
    const Vector2& hard = Entries()[BestKey(query)].value;
    SOFTLOOKUP_ASSIGN_OR_RETURN(const SoftAnswer soft, SoftLookup(query, 1));
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        const SoftAnswer ahead,
        SoftLookup(query_at(angle + kDifferenceStep), 1));
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        const SoftAnswer behind,
        SoftLookup(query_at(angle - kDifferenceStep), 1));
    const Vector2 direction = {-query[1], query[0]};  // d(query)/d(angle)
    double slope_size = 0;
    for (int c = 0; c < 2; ++c) {
      const double slope = soft.query_jacobian[c][0] * direction[0] +
                           soft.query_jacobian[c][1] * direction[1];
      const double difference =
          (ahead.output[c] - behind.output[c]) / (2 * kDifferenceStep);
      slope_deviation = std::max(slope_deviation, std::abs(slope - difference));
      slope_size = std::max(slope_size, std::abs(slope));
    }
    smallest_soft_slope = std::min(smallest_soft_slope, slope_size);
    if (previous_hard.has_value()) {
      const double jump = Distance(hard, *previous_hard);
      if (jump == 0) {
        ++hard_still;
      } else {
        ++hard_jumps;
        smallest_jump = std::min(smallest_jump, jump);
      }
      largest_soft_step =
          std::max(largest_soft_step, Distance(soft.output, *previous_soft));
    }
    previous_hard = hard;
    previous_soft = soft.output;
    degrees.push_back(angle * 180 / kPi);
    hard_outputs.push_back(hard);
    soft_outputs.push_back(soft.output);
  }
  Json path;
  path["steps"] = steps - 1;
  path["hard_steps_without_change"] = hard_still;
  path["hard_jumps"] = hard_jumps;
  path["hard_smallest_jump"] = smallest_jump;
  path["soft_largest_step"] = largest_soft_step;
  path["soft_smallest_slope"] = smallest_soft_slope;
  path["soft_slope_against_difference"] = slope_deviation;
  path["degrees"] = std::move(degrees);
  path["hard_outputs"] = std::move(hard_outputs);
  path["soft_outputs"] = std::move(soft_outputs);
  return path;
}

// What a step of gradient descent has to work with at the query itself.
absl::StatusOr<Json> MeasureGradients(const Vector2& query) {
  constexpr double kStep = 1e-6;
  double hard_slope = 0;
  for (int c = 0; c < 2; ++c) {
    Vector2 ahead = query;
    Vector2 behind = query;
    ahead[c] += kStep;
    behind[c] -= kStep;
    hard_slope =
        std::max(hard_slope, Distance(Entries()[BestKey(ahead)].value,
                                      Entries()[BestKey(behind)].value) /
                                 (2 * kStep));
  }
  SOFTLOOKUP_ASSIGN_OR_RETURN(const SoftAnswer soft, SoftLookup(query, 1));
  Json gradients;
  gradients["hard_query"] = hard_slope;
  gradients["soft_query"] = std::max(std::abs(soft.query_jacobian[1][0]),
                                     std::abs(soft.query_jacobian[1][1]));
  gradients["soft_keys"] = soft.key_gradient;
  gradients["soft_values"] = soft.value_gradient;
  return gradients;
}

absl::StatusOr<ExperimentRun> Run() {
  const Vector2 query = {absl::GetFlag(FLAGS_query_x),
                         absl::GetFlag(FLAGS_query_y)};
  const double largest = absl::GetFlag(FLAGS_largest_factor);
  const int64_t per_decade = absl::GetFlag(FLAGS_factors_per_decade);
  const int64_t steps = absl::GetFlag(FLAGS_path_steps);
  SOFTLOOKUP_RETURN_IF_ERROR(CheckKnob("query_x", query[0], -1e3, 1e3));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckKnob("query_y", query[1], -1e3, 1e3));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckKnob("largest_factor", largest, 1.0, 1e9));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckKnob("factors_per_decade", per_decade, 1, 1000));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckKnob("path_steps", steps, 2, 100000));

  ExperimentRun run;
  run.results["entries"] = DescribeEntries();
  run.results["hard"] = MeasureHard();
  SOFTLOOKUP_ASSIGN_OR_RETURN(run.results["soft"], MeasureSoft(query));
  SOFTLOOKUP_ASSIGN_OR_RETURN(run.results["factor"],
                              MeasureFactors(query, largest, per_decade));
  SOFTLOOKUP_ASSIGN_OR_RETURN(run.results["gradients"],
                              MeasureGradients(query));
  SOFTLOOKUP_ASSIGN_OR_RETURN(run.results["path"], MeasurePath(steps));
  return run;
}

// "(1.759, 2.007)".
std::string Tuple(const Json& numbers) {
  std::string text = "(";
  for (const Json& number : numbers) {
    absl::StrAppend(&text, text.size() > 1 ? ", " : "",
                    Fixed(number.get<double>(), 3));
  }
  return text + ")";
}

void Print(const ExperimentRun& run) {
  const Json& results = run.results;
  Table lookups({"lookup", "query", "weights (pump, valve, tank)", "answer"});
  lookups.AddRow({"hard, hit", "\"tank\"", "one exact match",
                  Tuple(results["hard"]["hit"]["value"])});
  lookups.AddRow({"hard, miss", "\"gauge\"", "none", "not found"});
  lookups.AddRow({"soft", "the flags' vector",
                  Tuple(results["soft"]["weights"]),
                  Tuple(results["soft"]["output"])});
  std::fputs(lookups.ToString().c_str(), stdout);

  std::puts("\nAll scores multiplied by c:");
  Table factors({"c", "weights", "answer", "distance to hard"});
  const Json& sweep = results["factor"]["sweep"];
  for (size_t i = 0; i < sweep.size(); ++i) {
    const double factor = sweep[i]["factor"].get<double>();
    // Whole decades only; the file has the rest.
    const double decade = factor > 0 ? Log(factor) / Log(10.0) : 0;
    if (std::abs(decade - std::round(decade)) > 1e-9) continue;
    factors.AddRow({absl::StrCat(factor), Tuple(sweep[i]["weights"]),
                    Tuple(sweep[i]["output"]),
                    Fixed(sweep[i]["distance_to_hard"].get<double>(), 3)});
  }
  std::fputs(factors.ToString().c_str(), stdout);

  const Json& path = results["path"];
  const Json& gradients = results["gradients"];
  std::puts("\nWhat gradient descent has to work with:");
  Table slopes({"", "hard", "soft"});
  slopes.AddRow({"slope at the query",
                 Fixed(gradients["hard_query"].get<double>(), 3),
                 Fixed(gradients["soft_query"].get<double>(), 3)});
  slopes.AddRow({"steps of the path without any change",
                 absl::StrCat(path["hard_steps_without_change"].get<int64_t>(),
                              " of ", path["steps"].get<int64_t>()),
                 "0"});
  slopes.AddRow(
      {"largest step of the path",
       absl::StrCat("a jump, ", path["hard_jumps"].get<int64_t>(), " of them"),
       Fixed(path["soft_largest_step"].get<double>(), 4)});
  std::fputs(slopes.ToString().c_str(), stdout);
}

}  // namespace
}  // namespace softlookup

int main(int argc, char** argv) {
  return softlookup::ExperimentMain(
      argc, argv,
      {.name = "soft_lookup",
       .question = "What does attention return when a dictionary would find "
                   "an exact match or nothing?",
       .run = softlookup::Run,
       .print = softlookup::Print});
}
