// What agreement between a claim and our value meant, in parts: which rule
// decided, and the numbers that it compared.
//
//   Agreement agreement{Inequality{.op = ">", .threshold = 0.5,
//                                  .control = 0.1, .control_fails = true}};
//   AgreementText(agreement, std::nullopt);  // "> 0.5; control 0.1 fails it"
//
// The text is for the terminal; the report words the same parts, as
// AgreementToJson writes them, in its own languages.
#ifndef SOFTLOOKUP_LEDGER_AGREEMENT_H_
#define SOFTLOOKUP_LEDGER_AGREEMENT_H_

#include <optional>
#include <string>
#include <variant>

#include "base/json.h"

namespace softlookup {

// exact, of a text.
struct SameText {};

// exact, of a number: printed with so many decimals, 0 for an integer.
struct SameDecimals {
  int decimals = 0;
};

// identity: the largest deviation that holds.
struct AtMost {
  double limit = 0;
};

// statistical. In units of the printed value, but for standard_errors.
struct Within {
  // How much the printed value, with this many decimals, would have to change
  // for the rule to notice.
  struct Detectable {
    int decimals;
    double up;
    double down;
  };

  double reach = 0;            // the largest distance that holds
  double distance = 0;         // of our value from the printed one
  double standard_errors = 0;  // the distance in these
  std::optional<Detectable> detectable = {};  // where the claim holds
};

// qualitative: `ours op threshold`, which the control must fail.
struct Inequality {
  struct Interval {
    double low;
    double high;
  };

  std::string op;  // < <= > >= ==
  double threshold = 0;
  std::optional<Interval> interval = {};  // of our value, where it has one
  double control = 0;
  bool control_fails = false;
};

// cited: nothing was measured.
struct Literature {};

struct Agreement {
  // An ambiguous claim's other reading, judged by the same rule.
  struct OtherReading {
    Json ours;
    bool holds;
  };

  std::variant<SameText, SameDecimals, AtMost, Within, Inequality, Literature>
      rule = SameText{};
  std::optional<OtherReading> other_reading = {};
};

// One line in English, its parts joined by "; ". `published` as in OursText.
std::string AgreementText(const Agreement& agreement,
                          const std::optional<std::string>& published);

// {"rule", ...}: "rule" is same_text, same_decimals, at_most, within,
// inequality or literature; the rest are the members above by their names, an
// interval as [low, high]. Members without a value are left out.
Json AgreementToJson(const Agreement& agreement);

// A number as printed: its value, and half a unit of its last digit.
struct PrintedNumber {
  double value = 0;
  double half_unit = 0;
  int decimals = 0;
};

// nullopt unless the text is a plain decimal, such as "-0.50".
std::optional<PrintedNumber> ParsePrinted(const std::string& text);

// A measured value for people: rounded to two digits more than `published` has,
// to six significant ones where that is no number.
std::string OursText(const Json& ours,
                     const std::optional<std::string>& published);

}  // namespace softlookup

#endif  // SOFTLOOKUP_LEDGER_AGREEMENT_H_
