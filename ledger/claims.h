// The ledger of claims: what the chapter states, and what agreement with it
// means. ledger/judgement.h judges a measured result against a claim.
//
// A claim is one statement of the chapter with at most one number. It points
// into an experiment's results; its kind says what agreement means:
//
//   exact        our value, rounded to the printed digits (a tie to even, as
//                NumPy rounds), is the printed string (or our string is).
//   identity     our deviation is at most check.bound, which check.why derives
//                from rounding.
//   statistical  the printed value, allowing for its rounding, lies within
//                check.multiple standard errors (at check.error_pointer) of
//                ours.
//   qualitative  our effect satisfies `ours check.op threshold`, where the
//                threshold is check.value or at check.pointer; so does its
//                whole interval (at check.interval_pointer, [low, high]) where
//                it has one; and the control at check.control_pointer does not.
//   cited        literature that the chapter reports; nothing is measured.
//
// A claim with check.other_pointer is ambiguous: that is our value under the
// other reading, judged by the same rule (with check.other_error_pointer, and
// check.other_interval_pointer where the effect has an interval). The first
// reading is the one that the chapter needs: holding under it alone makes the
// verdict `one_reading`; not holding under it makes it `fails`.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(std::vector<Claim> ledger, ParseLedger(json));
#ifndef SOFTLOOKUP_LEDGER_CLAIMS_H_
#define SOFTLOOKUP_LEDGER_CLAIMS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/json.h"

namespace softlookup {

enum class ClaimKind {
  kExact,
  kIdentity,
  kStatistical,
  kQualitative,
  kCited,
};

enum class Verdict {
  kHolds,
  kOneReading,  // holds under the first reading only
  kFails,
  kNotTested,  // cited literature
};

// "holds", "one_reading", "fails", "not tested".
std::string VerdictName(Verdict verdict);

struct Claim {
  std::string id;                        // "worked_example.output_3_2"
  std::string section;                   // of the chapter: "3"
  std::string statement;                 // our words, English
  std::string statement_zh;              // our words, Chinese
  std::optional<std::string> published;  // as printed; none: a claim in words
  std::string experiment;                // empty for cited claims
  std::string pointer;                   // RFC 6901, into `results`
  ClaimKind kind = ClaimKind::kCited;
  Json check;  // the kind's parameters
  Verdict expected = Verdict::kHolds;
};

// InvalidArgument, naming the claim and the field, when the ledger has an
// unknown, missing or ill-typed field, a duplicate id, or a kind without its
// check parameters or with others. ("check" itself may be left out where the
// kind needs none.)
absl::StatusOr<std::vector<Claim>> ParseLedger(const Json& json);

// Whether `a op b`; nullopt unless `op` is one of < <= > >= ==. A NaN stands
// in no relation.
std::optional<bool> Compare(double a, const std::string& op, double b);

}  // namespace softlookup

#endif  // SOFTLOOKUP_LEDGER_CLAIMS_H_
