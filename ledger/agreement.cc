#include "ledger/agreement.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/table.h"

namespace softlookup {
namespace {

std::string RuleText(const SameText&) { return "the same text"; }

std::string RuleText(const SameDecimals& rule) {
  if (rule.decimals == 0) return "the same integer";
  return absl::StrCat("the same ", rule.decimals,
                      rule.decimals == 1 ? " decimal" : " decimals");
}

std::string RuleText(const AtMost& rule) {
  return absl::StrFormat("at most %.3g", rule.limit);
}

std::string RuleText(const Within& rule) {
  std::string text = absl::StrFormat("within %.3g", rule.reach);
  if (rule.detectable.has_value()) {
    const auto& [decimals, up, down] = *rule.detectable;
    absl::StrAppendFormat(&text, "; would detect +%.*f or -%.*f", decimals, up,
                          decimals, down);
  } else {
    absl::StrAppendFormat(&text, "; is %.3g off, %.1f standard errors",
                          rule.distance, rule.standard_errors);
  }
  return text;
}

std::string RuleText(const Inequality& rule) {
  std::string text = absl::StrFormat("%s %.4g", rule.op, rule.threshold);
  if (rule.interval.has_value()) {
    absl::StrAppendFormat(&text, ", interval [%.4g, %.4g]", rule.interval->low,
                          rule.interval->high);
  }
  absl::StrAppendFormat(&text, "; control %.4g %s it", rule.control,
                        rule.control_fails ? "fails" : "meets");
  return text;
}

std::string RuleText(const Literature&) { return "literature"; }

Json RuleToJson(const SameText&) { return {{"rule", "same_text"}}; }

Json RuleToJson(const SameDecimals& rule) {
  return {{"rule", "same_decimals"}, {"decimals", rule.decimals}};
}

Json RuleToJson(const AtMost& rule) {
  return {{"rule", "at_most"}, {"limit", rule.limit}};
}

Json RuleToJson(const Within& rule) {
  Json json = {{"rule", "within"},
               {"reach", rule.reach},
               {"distance", rule.distance},
               {"standard_errors", rule.standard_errors}};
  if (rule.detectable.has_value()) {
    json["detectable"] = {{"decimals", rule.detectable->decimals},
                          {"up", rule.detectable->up},
                          {"down", rule.detectable->down}};
  }
  return json;
}

Json RuleToJson(const Inequality& rule) {
  Json json = {
      {"rule", "inequality"}, {"op", rule.op}, {"threshold", rule.threshold}};
  if (rule.interval.has_value()) {
    json["interval"] = {rule.interval->low, rule.interval->high};
  }
  json["control"] = rule.control;
  json["control_fails"] = rule.control_fails;
  return json;
}

Json RuleToJson(const Literature&) { return {{"rule", "literature"}}; }

}  // namespace

std::string AgreementText(const Agreement& agreement,
                          const std::optional<std::string>& published) {
  std::string text = std::visit([](const auto& rule) { return RuleText(rule); },
                                agreement.rule);
  if (agreement.other_reading.has_value()) {
    const auto& [ours, holds] = *agreement.other_reading;
    absl::StrAppend(&text, "; other reading: ", OursText(ours, published),
                    holds ? " holds" : " fails");
  }
  return text;
}

Json AgreementToJson(const Agreement& agreement) {
  Json json = std::visit([](const auto& rule) { return RuleToJson(rule); },
                         agreement.rule);
  if (agreement.other_reading.has_value()) {
    json["other_reading"] = {{"ours", agreement.other_reading->ours},
                             {"holds", agreement.other_reading->holds}};
  }
  return json;
}

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

}  // namespace softlookup
