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
  Agreement agreement;
};

// A finite number. One that is not finite meets or fails an inequality
// whatever was measured, so nothing is judged by it.
absl::StatusOr<double> Finite(const Json& json) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const double number, JsonNumber(json));
  if (!std::isfinite(number)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected a finite number, found ", ShortestDouble(number)));
  }
  return number;
}

absl::StatusOr<double> FiniteAt(const Json& results,
                                const std::string& pointer) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const Json* value,
                              ResolvePointer(results, pointer));
  absl::StatusOr<double> number = Finite(*value);
  if (!number.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("at \"", pointer, "\": ", number.status().message()));
  }
  return number;
}

absl::StatusOr<Outcome> JudgeExact(const Claim& claim, const Json& ours) {
  const std::string& published = *claim.published;
  const absl::StatusOr<double> number = JsonNumber(ours);
  const bool not_finite = number.ok() && !std::isfinite(*number);
  // The very value that the row expects, and no other, may be non-finite.
  if (not_finite && ShortestDouble(*number) == published) {
    return Outcome{true, {SameText{}}};
  }
  if (ours.is_string() && !not_finite) {
    return Outcome{ours == published, {SameText{}}};
  }
  const std::optional<PrintedNumber> printed = ParsePrinted(published);
  if (!printed.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("published \"", published,
                     "\" is not a number but our value is ", ours.dump()));
  }
  SOFTLOOKUP_ASSIGN_OR_RETURN(const double value, Finite(ours));
  std::string rounded = absl::StrFormat("%.*f", printed->decimals, value);
  // A tiny negative rounds to "-0.000", which nobody prints.
  if (rounded.find_first_not_of("-0.") == std::string::npos) {
    rounded.erase(0, rounded.find_first_not_of('-'));
  }
  return Outcome{rounded == published, {SameDecimals{printed->decimals}}};
}

absl::StatusOr<Outcome> JudgeIdentity(const Claim& claim, const Json& ours) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const double deviation, Finite(ours));
  const double bound = claim.check["bound"].get<double>();
  return Outcome{std::abs(deviation) <= bound, {AtMost{bound}}};
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
  SOFTLOOKUP_ASSIGN_OR_RETURN(const double value, Finite(ours));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const double error,
      FiniteAt(results, claim.check[error_field].get<std::string>()));
  if (!(error > 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "standard error ", ShortestDouble(error), " is not positive"));
  }
  const std::optional<PrintedNumber> printed = ParsePrinted(*claim.published);
  if (!printed.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("published \"", *claim.published, "\" is not a number"));
  }
  Within rule;
  rule.reach =
      claim.check["multiple"].get<double>() * error + printed->half_unit;
  rule.distance = std::abs(value - printed->value);
  rule.standard_errors = rule.distance / error;
  const bool holds = rule.distance <= rule.reach;
  if (holds) {
    const double unit = 2 * printed->half_unit;
    rule.detectable = {
        .decimals = printed->decimals,
        .up = DetectableUnits(*printed, value, rule.reach, 1) * unit,
        .down = DetectableUnits(*printed, value, rule.reach, -1) * unit};
  }
  return Outcome{holds, {rule}};
}

// The interval [low, high] at `pointer`, which must hold the effect.
absl::StatusOr<Inequality::Interval> IntervalAt(const Json& results,
                                                const std::string& pointer,
                                                double effect) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const double low,
                              FiniteAt(results, pointer + "/0"));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const double high,
                              FiniteAt(results, pointer + "/1"));
  if (!(low <= effect && effect <= high)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "interval [%g, %g] does not hold the effect %g", low, high, effect));
  }
  return Inequality::Interval{low, high};
}

absl::StatusOr<Outcome> JudgeQualitative(const Claim& claim, const Json& ours,
                                         const Json& results,
                                         const std::string& interval_field) {
  const Json& check = claim.check;
  SOFTLOOKUP_ASSIGN_OR_RETURN(const double effect, Finite(ours));
  Inequality rule{.op = check["op"].get<std::string>()};
  if (check.contains("pointer")) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        rule.threshold, FiniteAt(results, check["pointer"].get<std::string>()));
  } else {
    rule.threshold = check["value"].get<double>();
  }
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      rule.control,
      FiniteAt(results, check["control_pointer"].get<std::string>()));
  const auto satisfies = [&rule](double value) {
    return *Compare(value, rule.op, rule.threshold);
  };
  rule.control_fails = !satisfies(rule.control);
  bool holds = satisfies(effect) && rule.control_fails;
  if (check.contains(interval_field)) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        rule.interval,
        IntervalAt(results, check[interval_field].get<std::string>(), effect));
    holds = holds && satisfies(rule.interval->low) &&
            satisfies(rule.interval->high);
  }
  return Outcome{holds, {rule}};
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

absl::StatusOr<Judgement> JudgeReadings(const Claim& claim,
                                        const Json& results) {
  Judgement judgement{
      .id = claim.id, .published = claim.published, .expected = claim.expected};
  SOFTLOOKUP_ASSIGN_OR_RETURN(const Json* ours,
                              ResolvePointer(results, claim.pointer));
  judgement.ours = *ours;
  SOFTLOOKUP_ASSIGN_OR_RETURN(const Outcome outcome,
                              JudgeReading(claim, *ours, results, ""));
  judgement.agreement = outcome.agreement;
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
    judgement.agreement.other_reading = {*other, other_outcome.holds};
  }
  return judgement;
}

}  // namespace

absl::StatusOr<Judgement> JudgeClaim(const Claim& claim, const Json& results) {
  if (claim.kind == ClaimKind::kCited) {
    return Judgement{.id = claim.id,
                     .published = claim.published,
                     .agreement = {Literature{}},
                     .verdict = Verdict::kNotTested,
                     .expected = Verdict::kNotTested};
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
         OursText(judgement.ours, judgement.published),
         AgreementText(judgement.agreement, judgement.published),
         judgement.AsExpected()
             ? VerdictName(judgement.verdict)
             : absl::StrCat(VerdictName(judgement.verdict), ", expected ",
                            VerdictName(judgement.expected))});
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
                    {"agreement", AgreementToJson(judgement.agreement)},
                    {"verdict", VerdictName(judgement.verdict)},
                    {"expected", VerdictName(judgement.expected)}});
  }
  return json;
}

absl::Status CheckJudgements(const std::vector<Judgement>& judgements) {
  std::vector<std::string> problems;
  for (const Judgement& judgement : judgements) {
    if (judgement.AsExpected()) continue;
    problems.push_back(
        absl::StrCat(judgement.id, ": published ",
                     judgement.published.value_or("(in words)"), ", ours ",
                     OursText(judgement.ours, judgement.published), " (",
                     AgreementText(judgement.agreement, judgement.published),
                     "): ", VerdictName(judgement.verdict), ", expected ",
                     VerdictName(judgement.expected)));
  }
  if (problems.empty()) return absl::OkStatus();
  return absl::AbortedError(absl::StrCat(
      problems.size(), problems.size() == 1 ? " claim does" : " claims do",
      " not come out: ", absl::StrJoin(problems, "; ")));
}

}  // namespace softlookup
