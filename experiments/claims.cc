#include "experiments/claims.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "experiments/table.h"

namespace softlookup {
namespace {

// Each kind's name, and the check parameters that it needs and allows.
struct KindRule {
  ClaimKind kind;
  std::set<std::string> required;
  std::set<std::string> optional;
};

const std::map<std::string, KindRule>& KindRules() {
  static const auto& rules = *new std::map<std::string, KindRule>{
      {"exact", {ClaimKind::kExact, {}, {"other_pointer"}}},
      {"identity", {ClaimKind::kIdentity, {"bound", "why"}, {"other_pointer"}}},
      {"statistical",
       {ClaimKind::kStatistical,
        {"error_pointer", "multiple"},
        {"other_pointer", "other_error_pointer"}}},
      {"qualitative",
       {ClaimKind::kQualitative,
        {"op", "control_pointer"},
        {"value", "pointer", "interval_pointer", "other_pointer"}}},
      {"cited", {ClaimKind::kCited, {}, {}}}};
  return rules;
}

const std::map<std::string, Verdict>& Standings() {
  static const auto& standings =
      *new std::map<std::string, Verdict>{{"holds", Verdict::kHolds},
                                          {"one_reading", Verdict::kOneReading},
                                          {"fails", Verdict::kFails}};
  return standings;
}

const std::set<std::string>& ClaimFields() {
  static const auto& fields = *new std::set<std::string>{
      "id",         "section", "statement", "statement_zh", "published",
      "experiment", "pointer", "kind",      "check",        "standing"};
  return fields;
}

absl::Status ClaimError(const std::string& id, const std::string& problem) {
  return absl::InvalidArgumentError(
      absl::StrCat("claim \"", id, "\": ", problem));
}

// A number as printed: its value, and half a unit of its last digit.
struct PrintedNumber {
  double value;
  double half_unit;
  int decimals;
};

std::optional<PrintedNumber> ParsePrinted(const std::string& text) {
  PrintedNumber printed;
  if (text.empty() ||
      text.find_first_not_of("-0123456789.") != std::string::npos ||
      !absl::SimpleAtod(text, &printed.value)) {
    return std::nullopt;
  }
  const size_t point = text.find('.');
  printed.decimals = point == std::string::npos
                         ? 0
                         : static_cast<int>(text.size() - point - 1);
  printed.half_unit = 0.5 * std::pow(10.0, -printed.decimals);
  return printed;
}

// Whether two numbers stand in relation `op`; nullopt for an unknown `op`.
// A NaN stands in no relation.
std::optional<bool> Compare(double a, const std::string& op, double b) {
  if (op == "<") return a < b;
  if (op == "<=") return a <= b;
  if (op == ">") return a > b;
  if (op == ">=") return a >= b;
  if (op == "==") return a == b;
  return std::nullopt;
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
          : absl::StrCat("the same ", printed->decimals, " decimals");
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

absl::StatusOr<Outcome> JudgeStatistical(const Claim& claim, const Json& ours,
                                         const Json& results,
                                         const std::string& error_field) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const double value, JsonNumber(ours));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const double error,
      NumberAt(results, claim.check[error_field].get<std::string>()));
  if (!(error > 0) || std::isinf(error)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "standard error ", ShortestDouble(error), " is not positive"));
  }
  const std::optional<PrintedNumber> printed = ParsePrinted(*claim.published);
  if (!printed.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("published \"", *claim.published, "\" is not a number"));
  }
  const double reach =
      claim.check["multiple"].get<double>() * error + printed->half_unit;
  Outcome outcome;
  outcome.holds = std::abs(value - printed->value) <= reach;
  // How many units of the last digit the printed value could move, up or
  // down, before the check would object.
  const double unit = 2 * printed->half_unit;
  const double up =
      (std::floor((value + reach - printed->value) / unit) + 1) * unit;
  const double down =
      (std::floor((printed->value - value + reach) / unit) + 1) * unit;
  outcome.bound =
      absl::StrFormat("within %.3g; would detect +%.*f or -%.*f", reach,
                      printed->decimals, up, printed->decimals, down);
  return outcome;
}

absl::StatusOr<Outcome> JudgeQualitative(const Claim& claim, const Json& ours,
                                         const Json& results,
                                         bool with_interval) {
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
  Outcome outcome;
  outcome.holds =
      *Compare(effect, op, threshold) && !*Compare(control, op, threshold);
  std::string interval_text;
  if (with_interval && check.contains("interval_pointer")) {
    const std::string pointer = check["interval_pointer"].get<std::string>();
    SOFTLOOKUP_ASSIGN_OR_RETURN(const double low,
                                NumberAt(results, pointer + "/0"));
    SOFTLOOKUP_ASSIGN_OR_RETURN(const double high,
                                NumberAt(results, pointer + "/1"));
    if (!(low <= effect && effect <= high)) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "interval [%g, %g] does not hold the effect %g", low, high, effect));
    }
    outcome.holds = outcome.holds && *Compare(low, op, threshold) &&
                    *Compare(high, op, threshold);
    interval_text = absl::StrFormat(", interval [%.4g, %.4g]", low, high);
  }
  outcome.bound = absl::StrFormat("%s %.4g%s; control %.4g fails it", op,
                                  threshold, interval_text, control);
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
      return JudgeQualitative(claim, ours, results, reading.empty());
    case ClaimKind::kCited:
      break;
  }
  return absl::InternalError("a cited claim has nothing to judge");
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
    absl::StrAppend(&judgement.bound, "; other reading: ",
                    other->is_number()
                        ? absl::StrFormat("%.6g", other->get<double>())
                        : other->dump());
  }
  return judgement;
}

// The string at `field`, which may be absent only if `required` is false.
absl::StatusOr<std::string> StringField(const Json& object,
                                        const std::string& id,
                                        const std::string& field) {
  if (!object.contains(field))
    return ClaimError(id, "no field \"" + field + "\"");
  if (!object[field].is_string() || object[field].get<std::string>().empty()) {
    return ClaimError(id, "\"" + field + "\" must be a non-empty string");
  }
  return object[field].get<std::string>();
}

absl::Status CheckParameters(const Claim& claim, const std::string& kind_name,
                             const KindRule& rule) {
  for (const std::string& field : rule.required) {
    if (!claim.check.contains(field)) {
      return ClaimError(claim.id, absl::StrCat("kind \"", kind_name,
                                               "\" needs check.", field));
    }
  }
  for (const auto& [field, value] : claim.check.items()) {
    if (rule.required.count(field) == 0 && rule.optional.count(field) == 0) {
      return ClaimError(claim.id, absl::StrCat("kind \"", kind_name,
                                               "\" has no check.", field));
    }
    const bool number =
        field == "bound" || field == "multiple" || field == "value";
    if (number ? !value.is_number() : !value.is_string()) {
      return ClaimError(claim.id, absl::StrCat("check.", field, " must be a ",
                                               number ? "number" : "string"));
    }
  }
  const bool needs_number =
      claim.kind == ClaimKind::kExact || claim.kind == ClaimKind::kStatistical;
  if (needs_number && !claim.published.has_value()) {
    return ClaimError(claim.id, absl::StrCat("kind \"", kind_name,
                                             "\" needs a published value"));
  }
  if (claim.kind == ClaimKind::kStatistical &&
      claim.check.contains("other_pointer") !=
          claim.check.contains("other_error_pointer")) {
    return ClaimError(claim.id,
                      "other_pointer and other_error_pointer go together");
  }
  if (claim.kind == ClaimKind::kQualitative) {
    const std::string op = claim.check["op"].get<std::string>();
    if (!Compare(0, op, 0).has_value()) {
      return ClaimError(claim.id, absl::StrCat("check.op is \"", op,
                                               "\"; allowed: < <= > >= =="));
    }
    if (claim.check.contains("value") == claim.check.contains("pointer")) {
      return ClaimError(claim.id,
                        "check needs one of value and pointer, not both");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Claim> ParseClaim(const Json& json, size_t index) {
  const std::string place = absl::StrCat("number ", index);
  if (!json.is_object()) return ClaimError(place, "not an object");
  Claim claim;
  SOFTLOOKUP_ASSIGN_OR_RETURN(claim.id, StringField(json, place, "id"));
  for (const auto& [field, value] : json.items()) {
    if (ClaimFields().count(field) == 0) {
      return ClaimError(claim.id, "unknown field \"" + field + "\"");
    }
  }
  SOFTLOOKUP_ASSIGN_OR_RETURN(claim.section,
                              StringField(json, claim.id, "section"));
  SOFTLOOKUP_ASSIGN_OR_RETURN(claim.statement,
                              StringField(json, claim.id, "statement"));
  SOFTLOOKUP_ASSIGN_OR_RETURN(claim.statement_zh,
                              StringField(json, claim.id, "statement_zh"));
  if (!json.contains("published")) {
    return ClaimError(claim.id, "no field \"published\" (null for none)");
  }
  if (!json["published"].is_null()) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(claim.published,
                                StringField(json, claim.id, "published"));
  }
  SOFTLOOKUP_ASSIGN_OR_RETURN(const std::string kind,
                              StringField(json, claim.id, "kind"));
  const auto rule = KindRules().find(kind);
  if (rule == KindRules().end()) {
    return ClaimError(claim.id, "unknown kind \"" + kind + "\"");
  }
  claim.kind = rule->second.kind;
  claim.check = json.value("check", Json::object());
  if (!claim.check.is_object()) {
    return ClaimError(claim.id, "\"check\" must be an object");
  }
  SOFTLOOKUP_RETURN_IF_ERROR(CheckParameters(claim, kind, rule->second));
  if (claim.kind == ClaimKind::kCited) {
    claim.standing = Verdict::kNotTested;
    for (const std::string field : {"experiment", "pointer", "standing"}) {
      if (json.contains(field)) {
        return ClaimError(claim.id, "a cited claim has no \"" + field + "\"");
      }
    }
    return claim;
  }
  SOFTLOOKUP_ASSIGN_OR_RETURN(claim.experiment,
                              StringField(json, claim.id, "experiment"));
  SOFTLOOKUP_ASSIGN_OR_RETURN(claim.pointer,
                              StringField(json, claim.id, "pointer"));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const std::string standing,
                              StringField(json, claim.id, "standing"));
  const auto known = Standings().find(standing);
  if (known == Standings().end()) {
    return ClaimError(claim.id, "unknown standing \"" + standing + "\"");
  }
  claim.standing = known->second;
  if (claim.standing == Verdict::kOneReading &&
      !claim.check.contains("other_pointer")) {
    return ClaimError(claim.id,
                      "standing one_reading needs check.other_pointer");
  }
  return claim;
}

// Our value for people: rounded to two digits more than were printed.
std::string OursText(const Judgement& judgement) {
  if (judgement.ours.is_number_float()) {
    const double value = judgement.ours.get<double>();
    if (judgement.published.has_value()) {
      const std::optional<PrintedNumber> printed =
          ParsePrinted(*judgement.published);
      if (printed.has_value()) return Fixed(value, printed->decimals + 2);
    }
    return absl::StrFormat("%.6g", value);
  }
  if (judgement.ours.is_string()) return judgement.ours.get<std::string>();
  return judgement.ours.dump();
}

}  // namespace

std::string VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kHolds:
      return "holds";
    case Verdict::kOneReading:
      return "one_reading";
    case Verdict::kFails:
      return "fails";
    case Verdict::kNotTested:
      return "not tested";
  }
  return "unknown";
}

absl::StatusOr<std::vector<Claim>> ParseLedger(const Json& json) {
  if (!json.is_array()) {
    return absl::InvalidArgumentError("the ledger must be an array of claims");
  }
  std::vector<Claim> ledger;
  std::set<std::string> ids;
  for (const Json& element : json) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(Claim claim,
                                ParseClaim(element, ledger.size()));
    if (!ids.insert(claim.id).second) {
      return ClaimError(claim.id, "the id is used twice");
    }
    ledger.push_back(std::move(claim));
  }
  return ledger;
}

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
         OursText(judgement), judgement.bound,
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
                     OursText(judgement), " (", judgement.bound,
                     "): ", VerdictName(judgement.verdict), ", expected ",
                     VerdictName(judgement.standing)));
  }
  if (problems.empty()) return absl::OkStatus();
  return absl::AbortedError(absl::StrCat(
      problems.size(), problems.size() == 1 ? " claim does" : " claims do",
      " not come out: ", absl::StrJoin(problems, "; ")));
}

}  // namespace softlookup
