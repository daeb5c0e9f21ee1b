#include "ledger/results_file.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status.h"

namespace softlookup {
namespace {

std::string CompilerName() {
#if defined(__clang__)
  return absl::StrCat("clang ", __clang_version__);
#else
  return absl::StrCat("GCC ", __VERSION__);
#endif
}

std::string InstructionSet() {
#if defined(__x86_64__)
  return "x86-64, fused multiply-add in elementary functions";
#elif defined(__aarch64__)
  return "AArch64";
#else
  return "other";
#endif
}

}  // namespace

Json Provenance(int threads) {
  return {{"compiler", CompilerName()},
          {"instruction_set", InstructionSet()},
          {"threads", threads},
          {"version", "0.1.0"}};
}

absl::StatusOr<std::vector<Claim>> ReadLedger(const std::string& path) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const Json json, ParseJson(text, path));
  absl::StatusOr<std::vector<Claim>> ledger = ParseLedger(json);
  if (!ledger.ok()) {
    return absl::Status(ledger.status().code(),
                        absl::StrCat(path, ": ", ledger.status().message()));
  }
  return ledger;
}

absl::StatusOr<Json> ReadResultsFile(const std::string& path) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  SOFTLOOKUP_ASSIGN_OR_RETURN(Json json, ParseJson(text, path));
  for (const std::string member :
       {"experiment", "parameters", "results", "measurements", "provenance"}) {
    if (!json.is_object() || !json.contains(member)) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": no member \"", member, "\""));
    }
  }
  if (!json["experiment"].is_string()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": \"experiment\" must be a string"));
  }
  return json;
}

}  // namespace softlookup
