#include "experiments/induction_sweep/seeds.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/statistics/estimate.h"
#include "base/status.h"

namespace softlookup {
namespace {

// Numbers of one run, under the names that the summary gives them.
using Numbers = std::map<std::string, double>;

bool IsHead(const Json& entry, const Json& name) {
  return entry["layer"] == name["layer"] && entry["head"] == name["head"];
}

double Value(const Json& estimate) {
  return estimate.at("value").get<double>();
}

// The highest or lowest of some values.
double Extreme(const std::vector<double>& values, bool highest) {
  return highest ? *std::max_element(values.begin(), values.end())
                 : *std::min_element(values.begin(), values.end());
}

// Throws Json::exception where a member is missing.
Numbers Extract(const Json& results) {
  const Json& previous = results.at("chosen").at("previous_token");
  const Json& induction = results.at("chosen").at("induction");
  Numbers numbers;
  numbers["accuracy"] = Value(results.at("clean").at("accuracy"));
  numbers["repeat_loss"] = Value(results.at("clean").at("repeat_loss"));
  numbers["in_context"] = Value(results.at("clean").at("in_context"));
  std::vector<double> others;
  std::vector<double> other_losses;
  for (const Json& head : results.at("single_heads")) {
    const auto accuracy = [&head](const char* kind) {
      return Value(head.at(kind).at("accuracy"));
    };
    if (IsHead(head, previous)) {
      numbers["without_previous_token"] = accuracy("zero");
      numbers["without_previous_token_mean"] = accuracy("mean");
      numbers["without_previous_token_patterns_kept"] =
          accuracy("pattern_preserving");
      numbers["previous_token_loss_increase"] =
          Value(head.at("zero").at("loss_increase"));
    } else if (head.at("layer") == previous.at("layer")) {
      others.push_back(accuracy("zero"));
      other_losses.push_back(Value(head.at("zero").at("loss_increase")));
    }
    if (IsHead(head, induction)) {
      numbers["without_induction"] = accuracy("zero");
      numbers["induction_loss_increase"] =
          Value(head.at("zero").at("loss_increase"));
    }
  }
  // A layer of one head has no other.
  numbers["without_other"] = others.empty() ? 1 : Extreme(others, false);
  numbers["other_loss_increase"] =
      other_losses.empty() ? 0 : Extreme(other_losses, true);
  for (const Json& layer : results.at("layers")) {
    if (layer.at("layer") == induction.at("layer")) {
      numbers["without_induction_layer"] = Value(layer.at("accuracy"));
    }
  }
  for (const std::string path : {"key", "query", "value"}) {
    numbers["without_" + path + "_path"] =
        Value(results.at("paths").at(path).at("accuracy"));
    numbers[path + "_path_loss_increase"] =
        Value(results.at("paths").at(path).at("loss_increase"));
  }
  for (const Json& head : results.at("heads")) {
    if (IsHead(head, induction)) {
      numbers["induction_score"] = Value(head.at("prefix_matching"));
      numbers["induction_eigenvalue_copying"] =
          head.at("eigenvalue_copying").get<double>();
    }
    if (IsHead(head, previous)) {
      numbers["previous_token_score"] = Value(head.at("previous_token"));
      numbers["previous_token_eigenvalue_copying"] =
          head.at("eigenvalue_copying").get<double>();
    }
  }
  for (const Json& pair : results.at("composition").at("pairs")) {
    if (!IsHead(pair.at("from"), previous) ||
        !IsHead(pair.at("to"), induction)) {
      continue;
    }
    for (const std::string kind : {"key", "query", "value"}) {
      numbers[kind + "_composition_deviations"] =
          pair.at(kind + "_deviations").get<double>();
    }
  }
  for (const std::string kind : {"previous_token", "induction"}) {
    numbers["ideal_" + kind + "_recovered"] =
        results.at("ideal_patterns").at(kind).at("recovered").get<double>();
    numbers["off_" + kind + "_recovered"] =
        results.at("ideal_patterns").at(kind).at("recovered_off").get<double>();
  }
  const Json& change = results.at("phase_change");
  if (change.at("found").get<bool>()) {
    const double begin = change.at("begin").get<double>();
    const double end = change.at("end").get<double>();
    numbers["phase_begin"] = begin;
    numbers["phase_end"] = end;
    numbers["phase_half"] = change.at("half").get<double>();
    numbers["phase_share"] = change.at("share_of_training").get<double>();
    numbers["induction_half"] = change.at("induction_half").get<double>();
    // How far the rise of a score is from the fall of the in-context score, as
    // a share of the training.
    const double steps = results.at("curve").back().at("step").get<double>();
    for (const char* score : {"induction", "previous_token"}) {
      numbers[absl::StrCat(score, "_lag_share")] =
          std::abs(change.at(absl::StrCat(score, "_half")).get<double>() -
                   change.at("half").get<double>()) /
          steps;
    }
  }
  return numbers;
}

absl::Status CheckAlike(const std::vector<Json>& runs) {
  std::set<uint64_t> seeds;
  Json first;
  for (const Json& run : runs) {
    if (run.at("experiment") != "induction") {
      return absl::InvalidArgumentError(absl::StrCat(
          "a run is of the experiment ", run.at("experiment").dump(),
          "; allowed: \"induction\""));
    }
    Json parameters = run.at("parameters");
    const auto seed = parameters.at("seed").get<uint64_t>();
    if (!seeds.insert(seed).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "two runs have the seed ", seed, "; allowed: each its own"));
    }
    parameters.erase("seed");
    parameters.erase("controls");
    if (first.is_null()) first = parameters;
    for (const auto& [name, value] : parameters.items()) {
      if (first.contains(name) && first.at(name) == value) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "runs differ in ", name, ": ",
          first.contains(name) ? first.at(name).dump() : "nothing", " and ",
          value.dump(), "; allowed: to differ in the seed"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

Json ShareJson(int64_t count, int64_t of) {
  constexpr double kZ = 1.959963984540054;  // 95 %, two-sided
  const auto n = static_cast<double>(of);
  const double share = static_cast<double>(count) / n;
  const double shrink = 1 / (1 + kZ * kZ / n);
  const double middle = (share + kZ * kZ / (2 * n)) * shrink;
  const double half =
      kZ * std::sqrt(share * (1 - share) / n + kZ * kZ / (4 * n * n)) * shrink;
  return {{"count", count},
          {"of", of},
          {"share", share},
          {"interval",
           {std::max(0.0, middle - half), std::min(1.0, middle + half)}}};
}

absl::StatusOr<Json> SummarizeRuns(const std::vector<Json>& runs,
                                   const CircuitCriterion& criterion) {
  if (runs.size() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", runs.size(), " runs; allowed: 2 or more"));
  }
  try {
    SOFTLOOKUP_RETURN_IF_ERROR(CheckAlike(runs));
    Json json;
    json["runs"] = Json::array();
    int64_t formed = 0;
    int64_t other_way = 0;
    int64_t windows = 0;
    int64_t bumps = 0;
    std::map<std::string, std::vector<double>> columns;
    for (const Json& run : runs) {
      const Json& results = run.at("results");
      const Numbers numbers = Extract(results);
      const bool has =
          numbers.at("accuracy") >= criterion.accuracy &&
          numbers.at("without_previous_token") <= criterion.without_head &&
          numbers.at("without_other") >= criterion.without_other;
      formed += has ? 1 : 0;
      // The same criterion with the two heads of the layer exchanged.
      other_way +=
          numbers.at("accuracy") >= criterion.accuracy &&
          numbers.at("without_other") <= criterion.without_head &&
          numbers.at("without_previous_token") >= criterion.without_other;
      windows += numbers.count("phase_half") > 0 ? 1 : 0;
      bumps += results.at("phase_change").at("bump").at("found").get<bool>();
      Json entry;
      entry["seed"] = run.at("parameters").at("seed");
      entry["formed"] = has;
      entry["previous_token"] = results.at("chosen").at("previous_token");
      entry["induction"] = results.at("chosen").at("induction");
      for (const auto& [name, value] : numbers) {
        entry[name] = value;
        columns[name].push_back(value);
      }
      json["runs"].push_back(std::move(entry));
    }
    const auto of = static_cast<int64_t>(runs.size());
    json["formed"] = ShareJson(formed, of);
    json["formed_with_other"] = ShareJson(other_way, of);
    json["phase_changes"] = ShareJson(windows, of);
    json["loss_bumps"] = ShareJson(bumps, of);
    for (const auto& [name, values] : columns) {
      // What not all runs have has no mean over them.
      if (values.size() != runs.size()) continue;
      json["over_runs"][name] = EstimateJson(MeanEstimate(values));
      json["over_runs"][name]["lowest"] = Extreme(values, false);
      json["over_runs"][name]["highest"] = Extreme(values, true);
    }
    return json;
  } catch (const Json::exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat("a run is no results file of the induction experiment: ",
                     error.what()));
  }
}

}  // namespace softlookup
