#include "ledger/claims.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// A valid claim of each kind, to be spoiled.
Json ExactClaim() {
  return {{"id", "lab.mean"},         {"section", "2"},
          {"statement", "The mean."}, {"statement_zh", "均值。"},
          {"published", "0.50"},      {"experiment", "lab"},
          {"pointer", "/mean"},       {"kind", "exact"},
          {"check", Json::object()},  {"expected", "holds"}};
}

Json ClaimOfKind(const std::string& kind, Json check) {
  Json claim = ExactClaim();
  claim["kind"] = kind;
  claim["check"] = std::move(check);
  return claim;
}

Json IdentityClaim() {
  return ClaimOfKind("identity", {{"bound", 1e-15}, {"why", "one rounding"}});
}

Json StatisticalClaim() {
  return ClaimOfKind("statistical",
                     {{"error_pointer", "/error"}, {"multiple", 4}});
}

Json QualitativeClaim() {
  return ClaimOfKind(
      "qualitative",
      {{"op", "<"}, {"value", 0.5}, {"control_pointer", "/control"}});
}

Json CitedClaim() {
  Json claim = ExactClaim();
  claim["kind"] = "cited";
  for (const char* field : {"experiment", "pointer", "expected"}) {
    claim.erase(field);
  }
  return claim;
}

absl::Status ParseError(const Json& claim) {
  return ParseLedger(Json::array({claim})).status();
}

Json With(Json claim, const std::string& field, Json value) {
  claim[field] = std::move(value);
  return claim;
}

Json Without(Json claim, const std::string& field) {
  claim.erase(field);
  return claim;
}

Json WithCheck(Json claim, const std::string& field, Json value) {
  claim["check"][field] = std::move(value);
  return claim;
}

Json WithoutCheck(Json claim, const std::string& field) {
  claim["check"].erase(field);
  return claim;
}

TEST(ParseLedger, ReadsEveryFieldOfEveryKind) {
  const Json ledger = {
      With(ExactClaim(), "id", "lab.exact"),
      With(IdentityClaim(), "id", "lab.identity"),
      With(StatisticalClaim(), "id", "lab.statistical"),
      With(With(QualitativeClaim(), "id", "lab.words"), "published", nullptr),
      With(CitedClaim(), "id", "paper.result"),
  };
  const auto claims = ParseLedger(ledger);
  ASSERT_TRUE(claims.ok()) << claims.status();
  ASSERT_EQ(claims->size(), 5u);
  const Claim& exact = (*claims)[0];
  EXPECT_EQ(exact.id, "lab.exact");
  EXPECT_EQ(exact.section, "2");
  EXPECT_EQ(exact.statement, "The mean.");
  EXPECT_EQ(exact.statement_zh, "均值。");
  EXPECT_EQ(exact.published, "0.50");
  EXPECT_EQ(exact.experiment, "lab");
  EXPECT_EQ(exact.pointer, "/mean");
  EXPECT_EQ(exact.kind, ClaimKind::kExact);
  EXPECT_EQ(exact.check, Json::object());
  EXPECT_EQ(exact.expected, Verdict::kHolds);
  EXPECT_EQ((*claims)[1].kind, ClaimKind::kIdentity);
  EXPECT_EQ((*claims)[1].check["bound"], 1e-15);
  EXPECT_EQ((*claims)[2].kind, ClaimKind::kStatistical);
  EXPECT_EQ((*claims)[3].kind, ClaimKind::kQualitative);
  EXPECT_FALSE((*claims)[3].published.has_value());
  EXPECT_EQ((*claims)[4].kind, ClaimKind::kCited);
  EXPECT_EQ((*claims)[4].experiment, "");
  EXPECT_EQ((*claims)[4].expected, Verdict::kNotTested);
}

TEST(ParseLedger, ReadsEveryExpectedVerdict) {
  const auto expected = [](const Json& claim) {
    const auto claims = ParseLedger(Json::array({claim}));
    return claims.ok() ? claims->front().expected : Verdict::kNotTested;
  };
  EXPECT_EQ(expected(ExactClaim()), Verdict::kHolds);
  EXPECT_EQ(expected(With(ExactClaim(), "expected", "fails")), Verdict::kFails);
  EXPECT_EQ(expected(WithCheck(With(ExactClaim(), "expected", "one_reading"),
                               "other_pointer", "/other")),
            Verdict::kOneReading);
}

TEST(ParseLedger, TakesEveryOptionalCheck) {
  for (const Json& claim : {
           Without(ExactClaim(), "check"),
           WithCheck(ExactClaim(), "other_pointer", "/other"),
           WithCheck(IdentityClaim(), "other_pointer", "/other"),
           // A deviation that must vanish altogether.
           WithCheck(IdentityClaim(), "bound", 0),
           WithCheck(WithCheck(StatisticalClaim(), "other_pointer", "/other"),
                     "other_error_pointer", "/other_error"),
           WithCheck(WithoutCheck(QualitativeClaim(), "value"), "pointer",
                     "/threshold"),
           WithCheck(QualitativeClaim(), "interval_pointer", "/interval"),
           WithCheck(WithCheck(QualitativeClaim(), "other_pointer", "/other"),
                     "other_interval_pointer", "/other_interval"),
           With(IdentityClaim(), "published", nullptr),
           With(CitedClaim(), "check", Json::object()),
       }) {
    EXPECT_TRUE(ParseError(claim).ok()) << ParseError(claim) << claim.dump();
  }
  for (const char* op : {"<", "<=", ">", ">=", "=="}) {
    EXPECT_TRUE(ParseError(WithCheck(QualitativeClaim(), "op", op)).ok());
  }
}

TEST(ParseLedger, AnEmptyLedgerIsFine) {
  const auto claims = ParseLedger(Json::array());
  ASSERT_TRUE(claims.ok());
  EXPECT_TRUE(claims->empty());
}

TEST(ParseLedger, RejectsWithTheClaimAndTheField) {
  const std::vector<std::pair<Json, std::string>> cases = {
      {5, "claim \"number 0\": not an object"},
      {Without(ExactClaim(), "id"), "claim \"number 0\": no field \"id\""},
      {With(ExactClaim(), "id", ""),
       "claim \"number 0\": \"id\" must be a non-empty string"},
      {With(ExactClaim(), "colour", "red"),
       "claim \"lab.mean\": unknown field \"colour\""},
      {Without(ExactClaim(), "section"),
       "claim \"lab.mean\": no field \"section\""},
      {With(ExactClaim(), "section", 2),
       "claim \"lab.mean\": \"section\" must be a non-empty string"},
      {Without(ExactClaim(), "statement"),
       "claim \"lab.mean\": no field \"statement\""},
      {Without(ExactClaim(), "statement_zh"),
       "claim \"lab.mean\": no field \"statement_zh\""},
      {Without(ExactClaim(), "published"),
       "claim \"lab.mean\": no field \"published\" (null for none)"},
      {With(ExactClaim(), "published", 0.5),
       "claim \"lab.mean\": \"published\" must be a non-empty string"},
      {Without(ExactClaim(), "kind"), "claim \"lab.mean\": no field \"kind\""},
      {With(ExactClaim(), "kind", "vague"),
       "claim \"lab.mean\": unknown kind \"vague\""},
      {With(ExactClaim(), "check", nullptr),
       "claim \"lab.mean\": \"check\" must be an object"},
      {Without(ExactClaim(), "experiment"),
       "claim \"lab.mean\": no field \"experiment\""},
      {Without(ExactClaim(), "pointer"),
       "claim \"lab.mean\": no field \"pointer\""},
      {Without(ExactClaim(), "expected"),
       "claim \"lab.mean\": no field \"expected\""},
      {With(ExactClaim(), "expected", "maybe"),
       "claim \"lab.mean\": unknown expected verdict \"maybe\""},
      {With(ExactClaim(), "expected", "not tested"),
       "claim \"lab.mean\": unknown expected verdict \"not tested\""},
      {With(ExactClaim(), "expected", "one_reading"),
       "claim \"lab.mean\": expected one_reading needs check.other_pointer"},
      {With(ExactClaim(), "published", nullptr),
       "claim \"lab.mean\": kind \"exact\" needs a published value"},
      {With(StatisticalClaim(), "published", nullptr),
       "claim \"lab.mean\": kind \"statistical\" needs a published value"},
      {WithCheck(ExactClaim(), "bound", 1),
       "claim \"lab.mean\": kind \"exact\" has no check.bound"},
      {WithCheck(ExactClaim(), "other_pointer", ""),
       "claim \"lab.mean\": check.other_pointer must be a non-empty string"},
      {WithoutCheck(IdentityClaim(), "bound"),
       "claim \"lab.mean\": kind \"identity\" needs check.bound"},
      {WithoutCheck(IdentityClaim(), "why"),
       "claim \"lab.mean\": kind \"identity\" needs check.why"},
      {WithCheck(IdentityClaim(), "why", 3),
       "claim \"lab.mean\": check.why must be a non-empty string"},
      {WithCheck(IdentityClaim(), "why", ""),
       "claim \"lab.mean\": check.why must be a non-empty string"},
      {WithCheck(IdentityClaim(), "bound", "1e-15"),
       "claim \"lab.mean\": check.bound must be a number"},
      {WithCheck(IdentityClaim(), "bound", -1e-300),
       "claim \"lab.mean\": check.bound must not be negative"},
      {WithoutCheck(StatisticalClaim(), "multiple"),
       "claim \"lab.mean\": kind \"statistical\" needs check.multiple"},
      {WithoutCheck(StatisticalClaim(), "error_pointer"),
       "claim \"lab.mean\": kind \"statistical\" needs check.error_pointer"},
      {WithCheck(StatisticalClaim(), "multiple", "4"),
       "claim \"lab.mean\": check.multiple must be a number"},
      {WithCheck(StatisticalClaim(), "multiple", 0),
       "claim \"lab.mean\": check.multiple must be positive"},
      {WithCheck(StatisticalClaim(), "other_pointer", "/other"),
       "claim \"lab.mean\": other_pointer and other_error_pointer go together"},
      {WithCheck(StatisticalClaim(), "other_error_pointer", "/other"),
       "claim \"lab.mean\": other_pointer and other_error_pointer go together"},
      {WithoutCheck(QualitativeClaim(), "op"),
       "claim \"lab.mean\": kind \"qualitative\" needs check.op"},
      {WithoutCheck(QualitativeClaim(), "control_pointer"),
       "claim \"lab.mean\": kind \"qualitative\" needs check.control_pointer"},
      {WithCheck(QualitativeClaim(), "op", "!="),
       "claim \"lab.mean\": check.op is \"!=\"; allowed: < <= > >= =="},
      {WithCheck(QualitativeClaim(), "value", "0.5"),
       "claim \"lab.mean\": check.value must be a number"},
      {WithoutCheck(QualitativeClaim(), "value"),
       "claim \"lab.mean\": check needs one of value and pointer, not both"},
      {WithCheck(QualitativeClaim(), "pointer", "/threshold"),
       "claim \"lab.mean\": check needs one of value and pointer, not both"},
      {WithCheck(QualitativeClaim(), "other_interval_pointer", "/interval"),
       "claim \"lab.mean\": other_interval_pointer needs other_pointer"},
      {WithCheck(CitedClaim(), "bound", 1),
       "claim \"lab.mean\": kind \"cited\" has no check.bound"},
      {With(CitedClaim(), "experiment", "lab"),
       "claim \"lab.mean\": a cited claim has no \"experiment\""},
      {With(CitedClaim(), "pointer", "/mean"),
       "claim \"lab.mean\": a cited claim has no \"pointer\""},
      {With(CitedClaim(), "expected", "holds"),
       "claim \"lab.mean\": a cited claim has no \"expected\""},
  };
  for (const auto& [claim, message] : cases) {
    const absl::Status status = ParseError(claim);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << message;
    EXPECT_EQ(status.message(), message);
  }
}

TEST(ParseLedger, RejectsWhatIsNoArray) {
  EXPECT_EQ(
      ParseLedger(Json::object()).status(),
      absl::InvalidArgumentError("the ledger must be an array of claims"));
}

TEST(ParseLedger, RejectsADuplicateId) {
  EXPECT_EQ(
      ParseLedger({ExactClaim(), QualitativeClaim()}).status(),
      absl::InvalidArgumentError("claim \"lab.mean\": the id is used twice"));
}

TEST(ParseLedger, NamesTheNumberOfAClaimWithoutId) {
  EXPECT_EQ(ParseLedger({ExactClaim(), Without(ExactClaim(), "id")}).status(),
            absl::InvalidArgumentError("claim \"number 1\": no field \"id\""));
}

TEST(Compare, BothSidesOfEveryRelation) {
  // Columns: 1 op 2, 2 op 2, 2 op 1.
  const std::vector<std::pair<std::string, std::vector<bool>>> truth = {
      {"<", {true, false, false}},  {"<=", {true, true, false}},
      {">", {false, false, true}},  {">=", {false, true, true}},
      {"==", {false, true, false}},
  };
  for (const auto& [op, holds] : truth) {
    EXPECT_EQ(Compare(1, op, 2), holds[0]) << op;
    EXPECT_EQ(Compare(2, op, 2), holds[1]) << op;
    EXPECT_EQ(Compare(2, op, 1), holds[2]) << op;
    EXPECT_EQ(Compare(kNaN, op, 1), false) << op;
    EXPECT_EQ(Compare(1, op, kNaN), false) << op;
    EXPECT_EQ(Compare(kNaN, op, kNaN), false) << op;
  }
  EXPECT_EQ(Compare(-kInf, "<", kInf), true);
  EXPECT_EQ(Compare(0.0, "==", -0.0), true);
  EXPECT_EQ(Compare(1, "!=", 2), std::nullopt);
  EXPECT_EQ(Compare(1, "", 2), std::nullopt);
}

TEST(VerdictName, All) {
  EXPECT_EQ(VerdictName(Verdict::kHolds), "holds");
  EXPECT_EQ(VerdictName(Verdict::kOneReading), "one_reading");
  EXPECT_EQ(VerdictName(Verdict::kFails), "fails");
  EXPECT_EQ(VerdictName(Verdict::kNotTested), "not tested");
}

}  // namespace
}  // namespace softlookup
