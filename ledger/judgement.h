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
#include "ledger/claims.h"

namespace softlookup {

struct Judgement {
  std::string id;
  std::optional<std::string> published = {};
  Json ours = nullptr;     // our value
  std::string bound = {};  // what agreement meant, for people
  Verdict verdict = Verdict::kFails;
  Verdict standing = Verdict::kHolds;
  bool AsItStands() const { return verdict == standing; }
};

// NotFound when a pointer resolves to nothing, InvalidArgument when it
// resolves to something that its kind cannot judge (a text where a number is
// needed, a standard error that is not positive, a control or a threshold that
// is NaN, an interval that does not hold the effect); both name the claim.
absl::StatusOr<Judgement> JudgeClaim(const Claim& claim, const Json& results);

// The judgements of every claim on `experiment`, in ledger order.
absl::StatusOr<std::vector<Judgement>> JudgeExperiment(
    const std::vector<Claim>& ledger, const std::string& experiment,
    const Json& results);

// The judgements as an aligned table: claim, published, ours, agreement (the
// bound), verdict.
std::string JudgementTable(const std::vector<Judgement>& judgements);

// [{id, published, ours, bound, verdict, standing}].
Json JudgementsToJson(const std::vector<Judgement>& judgements);

// OK when every verdict is as it stands; else Aborted, naming each claim that
// is not, its published value and ours.
absl::Status CheckJudgements(const std::vector<Judgement>& judgements);

}  // namespace softlookup

#endif  // SOFTLOOKUP_LEDGER_JUDGEMENT_H_
