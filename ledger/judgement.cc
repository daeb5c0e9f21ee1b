#include "ledger/judgement.h"

#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "base/table.h"

namespace softlookup {
namespace {

// A number as printed: its value, and half a unit of its last digit.
struct PrintedNumber {
  double value;
  double half_unit;
  int decimals;
};

std::optional<PrintedNumber> ParsePrinted(const std::string& text) {
  PrintedNumber printed;
  if (text.find_first_not_of("-0123456789.") != std::string::npos ||
      !absl::SimpleAtod(text, &printed.value)) {
    return std::nullopt;
  }
  const size_t point = text.find('.');
  printed.decimals = point == std::string::npos
                         ? 0
                         : static_cast<int>(text.size() - point - 1);
  // By way of the text, so that it is the double nearest to the decimal.
  if (!absl::SimpleAtod(absl::StrCat("5e-", printed.decimals + 1),
                        &printed.half_unit)) {
    return std::nullopt;
  }
  return printed;
}

// The number that would have been printed `units` of the last digit higher.
double Moved(const PrintedNumber& printed, double units) {
  const double value = printed.value + units * (2 * printed.half_unit);
  double moved = value;
  (void)absl::SimpleAtod(absl::StrFormat("%.*f", printed.decimals, value),
                         &moved);
  return moved;
}

// The outcome of one rule on one value.
struct Outcome {
  bool holds = false;
  std::string bound;
};

absl::StatusOr<double> NumberAt(const Json& results,
                                const std::string& pointer) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const Json* value,
                              ResolvePointer(results, pointer));
  absl::StatusOr<double> number = JsonNumber(*value);
  if (!number.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("at \"", pointer, "\": ", number.status().message()));
  }
  return number;
}

absl::StatusOr<Outcome> JudgeExact(const Claim& claim, const Json& ours) {
  const std::string& published = *claim.published;
  Outcome outcome;
  if (ours.is_string()) {
    outcome.bound = "the same text";
    outcome.holds = ours == published;
    return outcome;
  }
  const std::optional<PrintedNumber> printed = ParsePrinted(published);
  if (!printed.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("published \"", published,
                     "\" is not a number but our value is ", ours.dump()));
  }
  SOFTLOOKUP_ASSIGN_OR_RETURN(const double value, JsonNumber(ours));
  outcome.bound =
      printed->decimals == 0
          ? "the same integer"
          : absl::StrCat("the same ", printed->decimals,
                         printed->decimals == 1 ? " decimal" : " decimals");
  std::string rounded = absl::StrFormat("%.*f", printed->decimals, value);
  // A tiny negative rounds to "-0.000", which nobody prints.
  if (rounded.find_first_not_of("-0.") == std::string::npos) {
    rounded.erase(0, rounded.find_first_not_of('-'));
  }
  outcome.holds = rounded == published;
  return outcome;
}

absl::StatusOr<Outcome> JudgeIdentity(const Claim& claim, const Json& ours) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const double deviation, JsonNumber(ours));
  const double bound = claim.check["bound"].get<double>();
  return Outcome{std::abs(deviation) <= bound,
                 absl::StrFormat("at most %.3g", bound)};
}

// How many units of the last digit the printed value could move, in the
// direction of `sign`, before |value - printed| would exceed `reach`.
double DetectableUnits(const PrintedNumber& printed, double value, double reach,
                       double sign) {
  const auto detected = [&](double units) {
    return std::abs(value - Moved(printed, sign * units)) > reach;
  };
  const double room = reach + sign * (value - printed.value);
  double units = std::floor(room / (2 * printed.half_unit)) + 1;
  // The division may have rounded to the wrong side of a whole number.
  if (!detected(units)) return units + 1;
  if (units > 1 && detected(units - 1)) return units - 1;
  return units;
}

absl::StatusOr<Outcome> JudgeStatistical(const Claim& claim, const Json& ours,
                                         const Json& results,
                                         const std::string& error_field) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const double value, JsonNumber(ours));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const double error,
      NumberAt(results, claim.check[error_field].get<std::string>()));
  if (!(error > 0) || std::isinf(error)) {
    return absl::InvalidArgumentError(
        absl::StrCat("standard error ", ShortestDouble(error),
                     " is not positive and finite"));
  }
  const std::optional<PrintedNumber> printed = ParsePrinted(*claim.published);
  if (!printed.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("published \"", *claim.published, "\" is not a number"));
  }
  const double reach =
      claim.check["multiple"].get<double>() * error + printed->half_unit;
  const double distance = std::abs(value - printed->value);
  Outcome outcome;
  outcome.holds = distance <= reach;
  outcome.bound = absl::StrFormat("within %.3g", reach);
  if (outcome.holds) {
    const double unit = 2 * printed->half_unit;
    absl::StrAppendFormat(
        &outcome.bound, "; would detect +%.*f or -%.*f", printed->decimals,
        DetectableUnits(*printed, value, reach, 1) * unit, printed->decimals,
        DetectableUnits(*printed, value, reach, -1) * unit);
  } else {
    absl::StrAppendFormat(&outcome.bound, "; is %.3g off, %.1f standard errors",
                          distance, distance / error);
  }
  return outcome;
}

// The interval [low, high] at `pointer`, which must hold the effect.
absl::StatusOr<std::pair<double, double>> IntervalAt(const Json& results,
                                                     const std::string& pointer,
                                                     double effect) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const double low,
                              NumberAt(results, pointer + "/0"));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const double high,
                              NumberAt(results, pointer + "/1"));
  if (!(low <= effect && effect <= high)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "interval [%g, %g] does not hold the effect %g", low, high, effect));
  }
  return std::make_pair(low, high);
}

absl::StatusOr<Outcome> JudgeQualitative(const Claim& claim, const Json& ours,
                                         const Json& results,
                                         const std::string& interval_field) {
  const Json& check = claim.check;
  const std::string op = check["op"].get<std::string>();
  SOFTLOOKUP_ASSIGN_OR_RETURN(const double effect, JsonNumber(ours));
  double threshold = 0;
  if (check.contains("pointer")) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        threshold, NumberAt(results, check["pointer"].get<std::string>()));
  } else {
    threshold = check["value"].get<double>();
  }
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const double control,
      NumberAt(results, check["control_pointer"].get<std::string>()));
  if (std::isnan(threshold) || std::isnan(control)) {
    // A NaN fails every inequality: no control at all.
    return absl::InvalidArgumentError(absl::StrFormat(
        "threshold %g and control %g must be numbers", threshold, control));
  }
  const bool control_fails = !*Compare(control, op, threshold);
  Outcome outcome;
  outcome.holds = *Compare(effect, op, threshold) && control_fails;
  outcome.bound = absl::StrFormat("%s %.4g", op, threshold);
  if (check.contains(interval_field)) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        const auto interval,
        IntervalAt(results, check[interval_field].get<std::string>(), effect));
    const auto [low, high] = interval;
    outcome.holds = outcome.holds && *Compare(low, op, threshold) &&
                    *Compare(high, op, threshold);
    absl::StrAppendFormat(&outcome.bound, ", interval [%.4g, %.4g]", low, high);
  }
  absl::StrAppendFormat(&outcome.bound, "; control %.4g %s it", control,
                        control_fails ? "fails" : "meets");
  return outcome;
}

// `reading` is "" for the claim's own pointer, "other_" for the other one.
absl::StatusOr<Outcome> JudgeReading(const Claim& claim, const Json& ours,
                                     const Json& results,
                                     const std::string& reading) {
  switch (claim.kind) {
    case ClaimKind::kExact:
      return JudgeExact(claim, ours);
    case ClaimKind::kIdentity:
      return JudgeIdentity(claim, ours);
    case ClaimKind::kStatistical:
      return JudgeStatistical(claim, ours, results, reading + "error_pointer");
    case ClaimKind::kQualitative:
      return JudgeQualitative(claim, ours, results,
                              reading + "interval_pointer");
    case ClaimKind::kCited:
      break;
  }
  return absl::InternalError("a cited claim has nothing to judge");
}

// A measured value for people: rounded to two digits more than were printed.
std::string OursText(const Json& ours,
                     const std::optional<std::string>& published) {
  if (ours.is_number_float()) {
    const double value = ours.get<double>();
    if (published.has_value()) {
      const std::optional<PrintedNumber> printed = ParsePrinted(*published);
      if (printed.has_value()) return Fixed(value, printed->decimals + 2);
    }
    return absl::StrFormat("%.6g", value);
  }
  if (ours.is_string()) return ours.get<std::string>();
  return ours.dump();
}

absl::StatusOr<Judgement> JudgeReadings(const Claim& claim,
                                        const Json& results) {
  Judgement judgement{
      .id = claim.id, .published = claim.published, .standing = claim.standing};
  SOFTLOOKUP_ASSIGN_OR_RETURN(const Json* ours,
                              ResolvePointer(results, claim.pointer));
  judgement.ours = *ours;
  SOFTLOOKUP_ASSIGN_OR_RETURN(const Outcome outcome,
                              JudgeReading(claim, *ours, results, ""));
  judgement.bound = outcome.bound;
  judgement.verdict = outcome.holds ? Verdict::kHolds : Verdict::kFails;
  if (claim.check.contains("other_pointer")) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        const Json* other,
        ResolvePointer(results,
                       claim.check["other_pointer"].get<std::string>()));
    SOFTLOOKUP_ASSIGN_OR_RETURN(const Outcome other_outcome,
                                JudgeReading(claim, *other, results, "other_"));
    if (outcome.holds && !other_outcome.holds) {
      judgement.verdict = Verdict::kOneReading;
    }
    absl::StrAppend(&judgement.bound,
                    "; other reading: ", OursText(*other, claim.published),
                    other_outcome.holds ? " holds" : " fails");
  }
  return judgement;
}

}  // namespace

absl::StatusOr<Judgement> JudgeClaim(const Claim& claim, const Json& results) {
  if (claim.kind == ClaimKind::kCited) {
    return Judgement{.id = claim.id,
                     .published = claim.published,
                     .bound = "literature",
                     .verdict = Verdict::kNotTested,
                     .standing = Verdict::kNotTested};
  }
  absl::StatusOr<Judgement> judgement = JudgeReadings(claim, results);
  if (!judgement.ok()) {
    return absl::Status(judgement.status().code(),
                        absl::StrCat("claim \"", claim.id,
                                     "\": ", judgement.status().message()));
  }
  return judgement;
}

absl::StatusOr<std::vector<Judgement>> JudgeExperiment(
    const std::vector<Claim>& ledger, const std::string& experiment,
    const Json& results) {
  std::vector<Judgement> judgements;
  for (const Claim& claim : ledger) {
    if (claim.experiment != experiment) continue;
    SOFTLOOKUP_ASSIGN_OR_RETURN(Judgement judgement,
                                JudgeClaim(claim, results));
    judgements.push_back(std::move(judgement));
  }
  return judgements;
}

std::string JudgementTable(const std::vector<Judgement>& judgements) {
  Table table({"claim", "published", "ours", "agreement", "verdict"});
  for (const Judgement& judgement : judgements) {
    table.AddRow(
        {judgement.id, judgement.published.value_or("(in words)"),
         OursText(judgement.ours, judgement.published), judgement.bound,
         judgement.AsItStands()
             ? VerdictName(judgement.verdict)
             : absl::StrCat(VerdictName(judgement.verdict), ", expected ",
                            VerdictName(judgement.standing))});
  }
  return table.ToString();
}

Json JudgementsToJson(const std::vector<Judgement>& judgements) {
  Json json = Json::array();
  for (const Judgement& judgement : judgements) {
    json.push_back({{"id", judgement.id},
                    {"published", judgement.published.has_value()
                                      ? Json(*judgement.published)
                                      : Json(nullptr)},
                    {"ours", judgement.ours},
                    {"bound", judgement.bound},
                    {"verdict", VerdictName(judgement.verdict)},
                    {"standing", VerdictName(judgement.standing)}});
  }
  return json;
}

absl::Status CheckJudgements(const std::vector<Judgement>& judgements) {
  std::vector<std::string> problems;
  for (const Judgement& judgement : judgements) {
    if (judgement.AsItStands()) continue;
    problems.push_back(
        absl::StrCat(judgement.id, ": published ",
                     judgement.published.value_or("(in words)"), ", ours ",
                     OursText(judgement.ours, judgement.published), " (",
                     judgement.bound, "): ", VerdictName(judgement.verdict),
                     ", expected ", VerdictName(judgement.standing)));
  }
  if (problems.empty()) return absl::OkStatus();
  return absl::AbortedError(absl::StrCat(
      problems.size(), problems.size() == 1 ? " claim does" : " claims do",
      " not come out: ", absl::StrJoin(problems, "; ")));
}

}  // namespace softlookup
