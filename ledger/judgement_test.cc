// Claims with a control or two readings, and judgements as a whole.
#include "ledger/judgement.h"

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "base/json.h"
#include "gtest/gtest.h"
#include "ledger/agreement.h"
#include "ledger/claims.h"

namespace softlookup {
namespace {

Claim MakeClaim(ClaimKind kind, std::optional<std::string> published,
                Json check) {
  Claim claim;
  claim.id = "lab.effect";
  claim.experiment = "lab";
  claim.pointer = "/ours";
  claim.kind = kind;
  claim.published = std::move(published);
  claim.check = std::move(check);
  return claim;
}

Judgement Judged(const Claim& claim, const Json& results) {
  const absl::StatusOr<Judgement> judgement = JudgeClaim(claim, results);
  EXPECT_TRUE(judgement.ok()) << judgement.status() << " " << results.dump();
  return judgement.ok() ? *judgement : Judgement{.id = "not judged"};
}

// What agreement meant, as the table has it.
std::string Agreed(const Judgement& judgement) {
  return AgreementText(judgement.agreement, judgement.published);
}

std::string ErrorOf(const Claim& claim, const Json& results) {
  const absl::StatusOr<Judgement> judgement = JudgeClaim(claim, results);
  EXPECT_FALSE(judgement.ok()) << results.dump();
  EXPECT_EQ(judgement.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(judgement.status().message());
}

Claim StatisticalClaim(const std::string& published) {
  return MakeClaim(ClaimKind::kStatistical, published,
                   {{"error_pointer", "/error"}, {"multiple", 4}});
}

// --- qualitative ---

Claim QualitativeClaim(const std::string& op, double value) {
  return MakeClaim(
      ClaimKind::kQualitative, std::nullopt,
      {{"op", op}, {"value", value}, {"control_pointer", "/control"}});
}

Verdict Qualitative(double ours, const std::string& op, double value,
                    double control) {
  return Judged(QualitativeClaim(op, value),
                {{"ours", ours}, {"control", control}})
      .verdict;
}

TEST(Qualitative, BothSidesOfEveryOperator) {
  const double under = std::nextafter(0.5, 0);
  const double over = std::nextafter(0.5, 1);
  EXPECT_EQ(Qualitative(under, "<", 0.5, 0.5), Verdict::kHolds);
  EXPECT_EQ(Qualitative(0.5, "<", 0.5, 0.5), Verdict::kFails);
  EXPECT_EQ(Qualitative(0.5, "<=", 0.5, over), Verdict::kHolds);
  EXPECT_EQ(Qualitative(over, "<=", 0.5, over), Verdict::kFails);
  EXPECT_EQ(Qualitative(over, ">", 0.5, 0.5), Verdict::kHolds);
  EXPECT_EQ(Qualitative(0.5, ">", 0.5, 0.5), Verdict::kFails);
  EXPECT_EQ(Qualitative(0.5, ">=", 0.5, under), Verdict::kHolds);
  EXPECT_EQ(Qualitative(under, ">=", 0.5, under), Verdict::kFails);
  EXPECT_EQ(Qualitative(0.5, "==", 0.5, over), Verdict::kHolds);
  EXPECT_EQ(Qualitative(over, "==", 0.5, over), Verdict::kFails);
}

TEST(Qualitative, AControlThatMeetsTheInequalityFailsTheClaim) {
  const double under = std::nextafter(0.5, 0);
  const double over = std::nextafter(0.5, 1);
  EXPECT_EQ(Qualitative(0, "<", 0.5, under), Verdict::kFails);
  EXPECT_EQ(Qualitative(0, "<=", 0.5, 0.5), Verdict::kFails);
  EXPECT_EQ(Qualitative(1, ">", 0.5, over), Verdict::kFails);
  EXPECT_EQ(Qualitative(1, ">=", 0.5, 0.5), Verdict::kFails);
  EXPECT_EQ(Qualitative(0.5, "==", 0.5, 0.5), Verdict::kFails);
}

TEST(Qualitative, SaysEffectAndControl) {
  const auto bound = [](double control) {
    return Agreed(Judged(QualitativeClaim("<", 0.5),
                         {{"ours", 0.25}, {"control", control}}));
  };
  EXPECT_EQ(bound(0.75), "< 0.5; control 0.75 fails it");
  EXPECT_EQ(bound(0.375), "< 0.5; control 0.375 meets it");
}

TEST(Qualitative, TakesItsThresholdFromTheResults) {
  Claim claim = QualitativeClaim("<", 0);
  claim.check.erase("value");
  claim.check["pointer"] = "/threshold";
  Json results = {{"ours", 1}, {"control", 3}, {"threshold", 2}};
  EXPECT_EQ(Judged(claim, results).verdict, Verdict::kHolds);
  results["threshold"] = 1;
  EXPECT_EQ(Judged(claim, results).verdict, Verdict::kFails);
  for (const std::string value : {"NaN", "Infinity", "-Infinity"}) {
    results["threshold"] = value;
    EXPECT_EQ(ErrorOf(claim, results),
              "claim \"lab.effect\": at \"/threshold\": expected a finite "
              "number, found " +
                  value);
  }
}

TEST(Qualitative, TheWholeIntervalMustSatisfyIt) {
  const auto judge = [](const std::string& op, double low, double high) {
    Claim claim = QualitativeClaim(op, 2);
    claim.check["interval_pointer"] = "/interval";
    return Judged(claim, {{"ours", 1.5},
                          {"control", op == "<" ? 5 : -5},
                          {"interval", {low, high}}});
  };
  EXPECT_EQ(judge("<", 1, 1.9).verdict, Verdict::kHolds);
  EXPECT_EQ(Agreed(judge("<", 1, 1.9)),
            "< 2, interval [1, 1.9]; control 5 fails it");
  EXPECT_EQ(judge("<", 1, 2).verdict, Verdict::kFails);
  // The effect itself must satisfy it too, and so must the low end.
  EXPECT_EQ(judge(">", 1, 3).verdict, Verdict::kFails);
  Claim claim = QualitativeClaim(">", 1);
  claim.check["interval_pointer"] = "/interval";
  Json results = {{"ours", 1.5}, {"control", 0}, {"interval", {1.1, 3}}};
  EXPECT_EQ(Judged(claim, results).verdict, Verdict::kHolds);
  results["interval"] = {1, 3};
  EXPECT_EQ(Judged(claim, results).verdict, Verdict::kFails);
  // A bare interval is not enough where the control fails to fail.
  results = {{"ours", 1.5}, {"control", 2}, {"interval", {1.1, 3}}};
  EXPECT_EQ(Judged(claim, results).verdict, Verdict::kFails);
}

TEST(Qualitative, RejectsAnIntervalWithoutTheEffect) {
  Claim claim = QualitativeClaim("<", 2);
  claim.check["interval_pointer"] = "/interval";
  for (const auto& [low, high] :
       {std::pair(1.6, 1.9), std::pair(1.0, 1.4), std::pair(1.9, 1.0)}) {
    EXPECT_EQ(
        ErrorOf(claim,
                {{"ours", 1.5}, {"control", 5}, {"interval", {low, high}}}),
        absl::StrFormat("claim \"lab.effect\": interval [%g, %g] does not hold "
                        "the effect 1.5",
                        low, high));
  }
  // Its own ends count as inside.
  for (const auto& [low, high] : {std::pair(1.5, 1.9), std::pair(1.0, 1.5)}) {
    EXPECT_EQ(Judged(claim,
                     {{"ours", 1.5}, {"control", 5}, {"interval", {low, high}}})
                  .verdict,
              Verdict::kHolds);
  }
}

TEST(Qualitative, WhatIsNotFiniteIsNoEffectNoControlAndNoEnd) {
  Claim claim = QualitativeClaim("<", 2);
  claim.check["interval_pointer"] = "/interval";
  const Json sound = {{"ours", 1}, {"control", 5}, {"interval", {0, 1.5}}};
  EXPECT_EQ(Judged(claim, sound).verdict, Verdict::kHolds);
  for (const std::string value : {"NaN", "Infinity", "-Infinity"}) {
    const std::string found = "expected a finite number, found " + value;
    Json results = sound;
    results["ours"] = value;
    EXPECT_EQ(ErrorOf(claim, results), "claim \"lab.effect\": " + found);
    results = sound;
    results["control"] = value;
    EXPECT_EQ(ErrorOf(claim, results),
              "claim \"lab.effect\": at \"/control\": " + found);
    for (const int end : {0, 1}) {
      results = sound;
      results["interval"][end] = value;
      EXPECT_EQ(ErrorOf(claim, results),
                absl::StrFormat("claim \"lab.effect\": at \"/interval/%d\": %s",
                                end, found));
    }
  }
}

// --- two readings ---

TEST(Readings, OneReadingOnlyIfTheFirstHoldsAndTheOtherDoesNot) {
  const Claim claim =
      MakeClaim(ClaimKind::kExact, "10", {{"other_pointer", "/other"}});
  const auto judge = [&claim](double ours, double other) {
    return Judged(claim, {{"ours", ours}, {"other", other}});
  };
  EXPECT_EQ(judge(10, 10).verdict, Verdict::kHolds);
  EXPECT_EQ(judge(10, 14).verdict, Verdict::kOneReading);
  EXPECT_EQ(judge(14, 10).verdict, Verdict::kFails);
  EXPECT_EQ(judge(14, 14).verdict, Verdict::kFails);
  EXPECT_EQ(Agreed(judge(10, 14.25)),
            "the same integer; other reading: 14.25 fails");
  EXPECT_EQ(Agreed(judge(10, 10.25)),
            "the same integer; other reading: 10.25 holds");
  EXPECT_EQ(judge(10, 14).ours, 10);
}

TEST(Readings, EveryKindJudgesTheOtherReading) {
  Claim identity = MakeClaim(
      ClaimKind::kIdentity, std::nullopt,
      {{"bound", 1}, {"why", "rounding"}, {"other_pointer", "/other"}});
  EXPECT_EQ(Judged(identity, {{"ours", 1}, {"other", 2}}).verdict,
            Verdict::kOneReading);
  EXPECT_EQ(Judged(identity, {{"ours", 1}, {"other", 0}}).verdict,
            Verdict::kHolds);

  Claim statistical = StatisticalClaim("10");
  statistical.check["other_pointer"] = "/other";
  statistical.check["other_error_pointer"] = "/other_error";
  Json results = {
      {"ours", 10}, {"error", 1}, {"other", 12}, {"other_error", 1}};
  EXPECT_EQ(Judged(statistical, results).verdict, Verdict::kHolds);
  // The other reading has its own standard error.
  results["other_error"] = 0.1;
  EXPECT_EQ(Judged(statistical, results).verdict, Verdict::kOneReading);

  Claim qualitative = QualitativeClaim("<", 2);
  qualitative.check["other_pointer"] = "/other";
  results = {{"ours", 1},
             {"control", 5},
             {"other", 3},
             {"tight", {0.9, 1.1}},
             {"wide", {1, 3}}};
  EXPECT_EQ(Judged(qualitative, results).verdict, Verdict::kOneReading);
  results["other"] = 1.5;
  EXPECT_EQ(Judged(qualitative, results).verdict, Verdict::kHolds);
  // The first reading's interval is not the other's.
  qualitative.check["interval_pointer"] = "/tight";
  EXPECT_EQ(Judged(qualitative, results).verdict, Verdict::kHolds);
  qualitative.check["other_interval_pointer"] = "/wide";
  EXPECT_EQ(Judged(qualitative, results).verdict, Verdict::kOneReading);
}

// --- the rest ---

TEST(JudgeClaim, ACitedClaimIsNotTested) {
  const Judgement judgement = Judged(
      MakeClaim(ClaimKind::kCited, "28.4", Json::object()), Json::object());
  EXPECT_EQ(judgement.verdict, Verdict::kNotTested);
  EXPECT_EQ(Agreed(judgement), "literature");
  EXPECT_EQ(judgement.published, "28.4");
  EXPECT_TRUE(judgement.AsExpected());
}

TEST(JudgeClaim, CarriesTheClaim) {
  Claim claim = MakeClaim(ClaimKind::kExact, "1", Json::object());
  claim.expected = Verdict::kFails;
  const Judgement judgement = Judged(claim, {{"ours", 1}});
  EXPECT_EQ(judgement.id, "lab.effect");
  EXPECT_EQ(judgement.published, "1");
  EXPECT_EQ(judgement.ours, 1);
  EXPECT_EQ(judgement.verdict, Verdict::kHolds);
  EXPECT_EQ(judgement.expected, Verdict::kFails);
  EXPECT_FALSE(judgement.AsExpected());
}

TEST(JudgeClaim, APointerToNothingIsNotFound) {
  const auto code = [](const Claim& claim, const Json& results) {
    const absl::Status status = JudgeClaim(claim, results).status();
    EXPECT_EQ(std::string(status.message()).find("claim \"lab.effect\": "), 0u);
    return status.code();
  };
  Claim exact = MakeClaim(ClaimKind::kExact, "1", Json::object());
  EXPECT_EQ(code(exact, Json::object()), absl::StatusCode::kNotFound);
  exact.check["other_pointer"] = "/other";
  EXPECT_EQ(code(exact, {{"ours", 1}}), absl::StatusCode::kNotFound);
  EXPECT_EQ(code(StatisticalClaim("1"), {{"ours", 1}}),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(code(QualitativeClaim("<", 2), {{"ours", 1}}),
            absl::StatusCode::kNotFound);
  Claim qualitative = QualitativeClaim("<", 2);
  qualitative.check["interval_pointer"] = "/interval";
  EXPECT_EQ(code(qualitative, {{"ours", 1}, {"control", 3}, {"interval", {1}}}),
            absl::StatusCode::kNotFound);
}

std::vector<Claim> Ledger() {
  Claim first = MakeClaim(ClaimKind::kExact, "0.5", Json::object());
  first.id = "lab.first";
  first.pointer = "/first";
  Claim elsewhere = first;
  elsewhere.id = "shop.first";
  elsewhere.experiment = "shop";
  Claim second = QualitativeClaim("<", 2);
  second.id = "lab.second";
  second.pointer = "/second";
  Claim cited = MakeClaim(ClaimKind::kCited, std::nullopt, Json::object());
  cited.id = "paper.result";
  cited.experiment = "";
  return {first, elsewhere, second, cited};
}

TEST(JudgeExperiment, TakesItsOwnClaimsInOrder) {
  const auto judgements = JudgeExperiment(
      Ledger(), "lab", {{"first", 0.5}, {"second", 1}, {"control", 3}});
  ASSERT_TRUE(judgements.ok()) << judgements.status();
  ASSERT_EQ(judgements->size(), 2u);
  EXPECT_EQ((*judgements)[0].id, "lab.first");
  EXPECT_EQ((*judgements)[1].id, "lab.second");
  const auto none = JudgeExperiment(Ledger(), "factory", Json::object());
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none->empty());
}

TEST(JudgeExperiment, StopsAtAClaimItCannotJudge) {
  EXPECT_EQ(JudgeExperiment(Ledger(), "lab", {{"first", 0.5}}).status().code(),
            absl::StatusCode::kNotFound);
}

std::vector<Judgement> SomeJudgements() {
  return {{.id = "lab.first",
           .published = "0.5",
           .ours = 0.50004,
           .agreement = {SameDecimals{1}},
           .verdict = Verdict::kHolds,
           .expected = Verdict::kHolds},
          {.id = "lab.second",
           .published = std::nullopt,
           .ours = 12345678,
           .agreement = {AtMost{2}},
           .verdict = Verdict::kFails,
           .expected = Verdict::kHolds},
          {.id = "lab.third",
           .published = std::nullopt,
           .ours = 0.123456789,
           .agreement = {AtMost{3}},
           .verdict = Verdict::kFails,
           .expected = Verdict::kFails},
          {.id = "lab.fourth",
           .published = "tank",
           .ours = "pump",
           .agreement = {SameText{}},
           .verdict = Verdict::kFails,
           .expected = Verdict::kOneReading}};
}

TEST(JudgementTable, ShowsVerdictsAndExpectations) {
  EXPECT_EQ(
      JudgementTable(SomeJudgements()),
      "claim       published   ours      agreement           verdict\n"
      "----------  ----------  --------  ------------------  "
      "---------------------------\n"
      "lab.first   0.5         0.500     the same 1 decimal  holds\n"
      "lab.second  (in words)  12345678  at most 2           fails, expected "
      "holds\n"
      "lab.third   (in words)  0.123457  at most 3           fails\n"
      "lab.fourth  tank        pump      the same text       fails, expected "
      "one_reading\n");
}

TEST(JudgementsToJson, OneObjectEach) {
  const Json json = JudgementsToJson(SomeJudgements());
  ASSERT_EQ(json.size(), 4u);
  EXPECT_EQ(json[0],
            Json({{"id", "lab.first"},
                  {"published", "0.5"},
                  {"ours", 0.50004},
                  {"agreement", {{"rule", "same_decimals"}, {"decimals", 1}}},
                  {"verdict", "holds"},
                  {"expected", "holds"}}));
  EXPECT_EQ(json[1]["published"], nullptr);
  EXPECT_EQ(json[3]["expected"], "one_reading");
  EXPECT_EQ(JudgementsToJson({}), Json::array());
}

TEST(CheckJudgements, NamesEachClaimThatDoesNotComeOut) {
  EXPECT_EQ(
      CheckJudgements(SomeJudgements()),
      absl::AbortedError(
          "2 claims do not come out: lab.second: published (in words), ours "
          "12345678 (at most 2): fails, expected holds; lab.fourth: published "
          "tank, "
          "ours pump (the same text): fails, expected one_reading"));
  std::vector<Judgement> one = SomeJudgements();
  one.pop_back();
  EXPECT_EQ(
      CheckJudgements(one),
      absl::AbortedError("1 claim does not come out: lab.second: "
                         "published (in words), ours 12345678 (at most 2): "
                         "fails, expected holds"));
  EXPECT_TRUE(CheckJudgements({one[0], one[2]}).ok());
  EXPECT_TRUE(CheckJudgements({}).ok());
}

TEST(CheckJudgements, AHoldThatWasNotExpectedIsAProblemToo) {
  Judgement better = SomeJudgements()[0];
  better.expected = Verdict::kFails;
  EXPECT_EQ(CheckJudgements({better}).code(), absl::StatusCode::kAborted);
}

}  // namespace
}  // namespace softlookup
