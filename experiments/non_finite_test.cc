// No claim of the ledger holds by a number that is not finite: NaN and both
// infinities are put, in turn, in place of its value, control, threshold, ends
// of intervals, standard error and other reading, and the judge refuses each.
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "gtest/gtest.h"
#include "ledger/claims.h"
#include "ledger/judgement.h"
#include "ledger/results_file.h"

namespace softlookup {
namespace {

// Pointers to each number that the verdict on a claim rests on.
std::vector<std::string> Places(const Claim& claim) {
  std::vector<std::string> places = {claim.pointer};
  for (const auto& [field, value] : claim.check.items()) {
    if (!absl::EndsWith(field, "pointer")) continue;
    const std::string pointer = value.get<std::string>();
    if (absl::EndsWith(field, "interval_pointer")) {
      places.push_back(absl::StrCat(pointer, "/0"));
      places.push_back(absl::StrCat(pointer, "/1"));
    } else {
      places.push_back(pointer);
    }
  }
  return places;
}

// As read from a file, and as an experiment judges them before.
const std::vector<Json>& NonFinite() {
  static const auto& values = *new std::vector<Json>{
      "NaN", "Infinity", "-Infinity", std::nan(""), HUGE_VAL, -HUGE_VAL};
  return values;
}

TEST(NonFinite, IsRefusedInEveryPlaceOfEveryClaim) {
  const auto ledger = ReadLedger("testdata/claims.json");
  ASSERT_TRUE(ledger.ok()) << ledger.status();
  std::map<std::string, Json> files;
  int measured = 0;
  for (const Claim& claim : *ledger) {
    if (claim.kind == ClaimKind::kCited) continue;
    ++measured;
    const std::string& name = claim.experiment;
    if (files.count(name) == 0) {
      const auto file = ReadResultsFile(
          absl::StrCat("experiments/", name, "/", name, ".json"));
      ASSERT_TRUE(file.ok()) << file.status();
      files[name] = *file;
    }
    Json& results = files[name]["results"];
    const auto sound = JudgeClaim(claim, results);
    ASSERT_TRUE(sound.ok()) << sound.status();
    EXPECT_TRUE(sound->AsExpected()) << claim.id;
    for (const std::string& place : Places(claim)) {
      Json& value = results.at(Json::json_pointer(place));
      const Json measured_value = value;
      for (const Json& non_finite : NonFinite()) {
        value = non_finite;
        const auto judged = JudgeClaim(claim, results);
        EXPECT_EQ(judged.status().code(), absl::StatusCode::kInvalidArgument)
            << claim.id << ": " << non_finite << " at " << place;
      }
      value = measured_value;
    }
  }
  EXPECT_GT(measured, 0);
}

}  // namespace
}  // namespace softlookup
