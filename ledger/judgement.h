// How a measured result is judged against the claims of the ledger.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(
//       std::vector<Judgement> judged,
//       JudgeExperiment(ledger, "saturation", results));
//   std::fputs(JudgementTable(judged).c_str(), stdout);
//   SOFTLOOKUP_RETURN_IF_ERROR(CheckJudgements(judged));
//
// What each kind of claim asks for is in ledger/claims.h.
#ifndef SOFTLOOKUP_LEDGER_JUDGEMENT_H_
#define SOFTLOOKUP_LEDGER_JUDGEMENT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/json.h"
#include "ledger/agreement.h"
#include "ledger/claims.h"

namespace softlookup {

struct Judgement {
  std::string id;
  std::optional<std::string> published = {};
  Json ours = nullptr;       // our value
  Agreement agreement = {};  // what it meant
  Verdict verdict = Verdict::kFails;
  Verdict expected = Verdict::kHolds;  // as the ledger has it
  bool AsExpected() const { return verdict == expected; }
};

// NotFound when a pointer resolves to nothing, InvalidArgument when it
// resolves to something that its kind cannot judge: a text where a number is
// needed, a number that is not finite (unless an exact claim's published value
// is that very "NaN", "Infinity" or "-Infinity"), a standard error that is not
// positive, an interval that does not hold the effect. Both name the claim.
absl::StatusOr<Judgement> JudgeClaim(const Claim& claim, const Json& results);

// The judgements of every claim on `experiment`, in ledger order.
absl::StatusOr<std::vector<Judgement>> JudgeExperiment(
    const std::vector<Claim>& ledger, const std::string& experiment,
    const Json& results);

// The judgements as an aligned table: claim, published, ours, agreement,
// verdict.
std::string JudgementTable(const std::vector<Judgement>& judgements);

// [{id, published, ours, agreement (AgreementToJson), verdict, expected}].
Json JudgementsToJson(const std::vector<Judgement>& judgements);

// OK when every verdict is as expected; else Aborted, naming each claim that
// is not, its published value and ours.
absl::Status CheckJudgements(const std::vector<Judgement>& judgements);

}  // namespace softlookup

#endif  // SOFTLOOKUP_LEDGER_JUDGEMENT_H_
