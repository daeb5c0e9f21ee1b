// The ledger of claims, and how a measured result is judged against one.
//
// A claim is one statement of the chapter with at most one number. It points
// into an experiment's results; its kind says what agreement means:
//
//   exact        our value, rounded to the printed digits, is the printed
//                string (or our string is).
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
// other reading, judged by the same rule. Holding under the first reading
// only makes the verdict `one_reading`.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(std::vector<Claim> ledger, ParseLedger(json));
//   SOFTLOOKUP_ASSIGN_OR_RETURN(std::vector<Judgement> judged,
//                               JudgeExperiment(ledger, "saturation",
//                               results));
#ifndef SOFTLOOKUP_EXPERIMENTS_CLAIMS_H_
#define SOFTLOOKUP_EXPERIMENTS_CLAIMS_H_

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
  Verdict standing = Verdict::kHolds;
};

struct Judgement {
  std::string id;
  std::optional<std::string> published;
  Json ours = nullptr;     // our value
  std::string bound = {};  // what agreement meant, for people
  Verdict verdict = Verdict::kFails;
  Verdict standing = Verdict::kHolds;
  bool AsItStands() const { return verdict == standing; }
};

// InvalidArgument, naming the claim and the field, when the ledger has an
// unknown, missing or ill-typed field, a duplicate id, or a kind without its
// check parameters.
absl::StatusOr<std::vector<Claim>> ParseLedger(const Json& json);

// NotFound when a pointer resolves to nothing, InvalidArgument when it
// resolves to something that its kind cannot judge; both name the claim.
absl::StatusOr<Judgement> JudgeClaim(const Claim& claim, const Json& results);

// The judgements of every claim on `experiment`, in ledger order.
absl::StatusOr<std::vector<Judgement>> JudgeExperiment(
    const std::vector<Claim>& ledger, const std::string& experiment,
    const Json& results);

// The judgements as an aligned table: claim, published, ours, bound, verdict.
std::string JudgementTable(const std::vector<Judgement>& judgements);

// [{id, published, ours, bound, verdict, standing}].
Json JudgementsToJson(const std::vector<Judgement>& judgements);

// OK when every verdict is as it stands; else FailedClaims: Aborted, naming
// each claim, its published value and ours.
absl::Status CheckJudgements(const std::vector<Judgement>& judgements);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_CLAIMS_H_
