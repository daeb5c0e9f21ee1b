#include "ledger/claims.h"

#include <map>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

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
        {"value", "pointer", "interval_pointer", "other_pointer",
         "other_interval_pointer"}}},
      {"cited", {ClaimKind::kCited, {}, {}}}};
  return rules;
}

const std::map<std::string, Verdict>& ExpectedVerdicts() {
  static const auto& verdicts =
      *new std::map<std::string, Verdict>{{"holds", Verdict::kHolds},
                                          {"one_reading", Verdict::kOneReading},
                                          {"fails", Verdict::kFails}};
  return verdicts;
}

const std::set<std::string>& ClaimFields() {
  static const auto& fields = *new std::set<std::string>{
      "id",         "section", "statement", "statement_zh", "published",
      "experiment", "pointer", "kind",      "check",        "expected"};
  return fields;
}

absl::Status ClaimError(const std::string& id, const std::string& problem) {
  return absl::InvalidArgumentError(
      absl::StrCat("claim \"", id, "\": ", problem));
}

// The string at `field`, which must be there and not empty.
absl::StatusOr<std::string> StringField(const Json& object,
                                        const std::string& id,
                                        const std::string& field) {
  if (!object.contains(field)) {
    return ClaimError(id, "no field \"" + field + "\"");
  }
  if (!object[field].is_string() || object[field].get<std::string>().empty()) {
    return ClaimError(id, "\"" + field + "\" must be a non-empty string");
  }
  return object[field].get<std::string>();
}

// One check parameter's type and range.
absl::Status CheckParameter(const std::string& id, const std::string& field,
                            const Json& value) {
  if (field == "bound" || field == "multiple" || field == "value") {
    if (!value.is_number()) {
      return ClaimError(id, absl::StrCat("check.", field, " must be a number"));
    }
    const double number = value.get<double>();
    if (field == "bound" && number < 0) {
      return ClaimError(id, "check.bound must not be negative");
    }
    if (field == "multiple" && number <= 0) {
      return ClaimError(id, "check.multiple must be positive");
    }
    return absl::OkStatus();
  }
  if (!value.is_string() || value.get<std::string>().empty()) {
    return ClaimError(
        id, absl::StrCat("check.", field, " must be a non-empty string"));
  }
  return absl::OkStatus();
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
    SOFTLOOKUP_RETURN_IF_ERROR(CheckParameter(claim.id, field, value));
  }
  const bool needs_number =
      claim.kind == ClaimKind::kExact || claim.kind == ClaimKind::kStatistical;
  if (needs_number && !claim.published.has_value()) {
    return ClaimError(claim.id, absl::StrCat("kind \"", kind_name,
                                             "\" needs a published value"));
  }
  const bool ambiguous = claim.check.contains("other_pointer");
  if (claim.kind == ClaimKind::kStatistical &&
      claim.check.contains("other_error_pointer") != ambiguous) {
    return ClaimError(claim.id,
                      "other_pointer and other_error_pointer go together");
  }
  if (claim.check.contains("other_interval_pointer") && !ambiguous) {
    return ClaimError(claim.id, "other_interval_pointer needs other_pointer");
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

// The fields of a claim that an experiment measures.
absl::Status ParseMeasured(const Json& json, Claim& claim) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(claim.experiment,
                              StringField(json, claim.id, "experiment"));
  SOFTLOOKUP_ASSIGN_OR_RETURN(claim.pointer,
                              StringField(json, claim.id, "pointer"));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const std::string expected,
                              StringField(json, claim.id, "expected"));
  const auto known = ExpectedVerdicts().find(expected);
  if (known == ExpectedVerdicts().end()) {
    return ClaimError(claim.id,
                      "unknown expected verdict \"" + expected + "\"");
  }
  claim.expected = known->second;
  if (claim.expected == Verdict::kOneReading &&
      !claim.check.contains("other_pointer")) {
    return ClaimError(claim.id,
                      "expected one_reading needs check.other_pointer");
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
    claim.expected = Verdict::kNotTested;
    for (const std::string field : {"experiment", "pointer", "expected"}) {
      if (json.contains(field)) {
        return ClaimError(claim.id, "a cited claim has no \"" + field + "\"");
      }
    }
    return claim;
  }
  SOFTLOOKUP_RETURN_IF_ERROR(ParseMeasured(json, claim));
  return claim;
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

std::optional<bool> Compare(double a, const std::string& op, double b) {
  if (op == "<") return a < b;
  if (op == "<=") return a <= b;
  if (op == ">") return a > b;
  if (op == ">=") return a >= b;
  if (op == "==") return a == b;
  return std::nullopt;
}

}  // namespace softlookup
