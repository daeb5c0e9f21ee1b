// Claims judged against one number: exact, identity and statistical ones.
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "base/json.h"
#include "base/random/random.h"
#include "gtest/gtest.h"
#include "ledger/agreement.h"
#include "ledger/claims.h"
#include "ledger/judgement.h"

namespace softlookup {
namespace {

constexpr uint64_t kSeed = 20240711;
constexpr int kCases = 2000;

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

// --- exact ---

Verdict Exact(const std::string& published, Json ours) {
  return Judged(MakeClaim(ClaimKind::kExact, published, Json::object()),
                {{"ours", std::move(ours)}})
      .verdict;
}

TEST(Exact, BothSidesOfBothBounds) {
  EXPECT_EQ(Exact("0.503", 0.503), Verdict::kHolds);
  EXPECT_EQ(Exact("0.503", 0.50250001), Verdict::kHolds);
  EXPECT_EQ(Exact("0.503", 0.50249999), Verdict::kFails);
  EXPECT_EQ(Exact("0.503", 0.50349999), Verdict::kHolds);
  EXPECT_EQ(Exact("0.503", 0.50350001), Verdict::kFails);
  EXPECT_EQ(Exact("-0.498", -0.49751), Verdict::kHolds);
  EXPECT_EQ(Exact("-0.498", -0.49749), Verdict::kFails);
  EXPECT_EQ(Exact("-0.498", 0.498), Verdict::kFails);
}

TEST(Exact, KeepsTrailingZeros) {
  EXPECT_EQ(Exact("1.940", 1.9404), Verdict::kHolds);
  EXPECT_EQ(Exact("1.94", 1.9404), Verdict::kHolds);
  EXPECT_EQ(Exact("1.940", 1.9446), Verdict::kFails);
}

TEST(Exact, AHalfGoesToTheEvenDigit) {
  // These halves are exact in binary.
  EXPECT_EQ(Exact("0.12", 0.125), Verdict::kHolds);
  EXPECT_EQ(Exact("0.13", 0.125), Verdict::kFails);
  EXPECT_EQ(Exact("0.38", 0.375), Verdict::kHolds);
  EXPECT_EQ(Exact("0.37", 0.375), Verdict::kFails);
  EXPECT_EQ(Exact("2", 2.5), Verdict::kHolds);
  EXPECT_EQ(Exact("4", 3.5), Verdict::kHolds);
  EXPECT_EQ(Exact("-2", -2.5), Verdict::kHolds);
}

TEST(Exact, Integers) {
  EXPECT_EQ(Exact("10000", 10000), Verdict::kHolds);
  EXPECT_EQ(Exact("10000", 10001), Verdict::kFails);
  EXPECT_EQ(Exact("8", 8.0), Verdict::kHolds);
  EXPECT_EQ(Exact("8.0", 8), Verdict::kHolds);
  EXPECT_EQ(Exact("9007199254740992", 9007199254740992), Verdict::kHolds);
}

TEST(Exact, NegativeZeroIsZero) {
  EXPECT_EQ(Exact("0.000", -0.0), Verdict::kHolds);
  EXPECT_EQ(Exact("0.000", -0.0004), Verdict::kHolds);
  EXPECT_EQ(Exact("0", -0.25), Verdict::kHolds);
  EXPECT_EQ(Exact("0.000", -0.0006), Verdict::kFails);
  EXPECT_EQ(Exact("-0.001", -0.0006), Verdict::kHolds);
}

TEST(Exact, Texts) {
  EXPECT_EQ(Exact("pump", "pump"), Verdict::kHolds);
  EXPECT_EQ(Exact("pump", "valve"), Verdict::kFails);
}

TEST(Exact, OnlyTheVeryNonFiniteValueThatIsPrinted) {
  const auto error = [](const std::string& published, Json ours) {
    return ErrorOf(MakeClaim(ClaimKind::kExact, published, Json::object()),
                   {{"ours", std::move(ours)}});
  };
  const std::string found =
      "claim \"lab.effect\": expected a finite number, found ";
  EXPECT_EQ(Exact("NaN", "NaN"), Verdict::kHolds);
  EXPECT_EQ(Exact("-Infinity", "-Infinity"), Verdict::kHolds);
  EXPECT_EQ(Exact("NaN", "tank"), Verdict::kFails);
  EXPECT_EQ(error("0.5", "NaN"), found + "NaN");
  EXPECT_EQ(error("0.5", "Infinity"), found + "Infinity");
  EXPECT_EQ(error("Infinity", "-Infinity"),
            "claim \"lab.effect\": published \"Infinity\" is not a number but "
            "our value is \"-Infinity\"");
  EXPECT_EQ(error("pump", "NaN"),
            "claim \"lab.effect\": published \"pump\" is not a number but our "
            "value is \"NaN\"");
  // Doubles that have not been through a file.
  EXPECT_EQ(Exact("NaN", std::nan("")), Verdict::kHolds);
  EXPECT_EQ(error("0.5", std::nan("")), found + "NaN");
  EXPECT_EQ(error("0.5", HUGE_VAL), found + "Infinity");
}

TEST(Exact, SaysWhatAgreementMeans) {
  const auto bound = [](const std::string& published, Json ours) {
    return Agreed(
        Judged(MakeClaim(ClaimKind::kExact, published, Json::object()),
               {{"ours", std::move(ours)}}));
  };
  EXPECT_EQ(bound("8", 8), "the same integer");
  EXPECT_EQ(bound("0.1", 0.1), "the same 1 decimal");
  EXPECT_EQ(bound("0.503", 0.503), "the same 3 decimals");
  EXPECT_EQ(bound("pump", "pump"), "the same text");
}

TEST(Exact, RejectsWhatItCannotCompare) {
  const auto error = [](const std::string& published, Json ours) {
    return ErrorOf(MakeClaim(ClaimKind::kExact, published, Json::object()),
                   {{"ours", std::move(ours)}});
  };
  EXPECT_EQ(error("pump", 0.5),
            "claim \"lab.effect\": published \"pump\" is not a number but our "
            "value is 0.5");
  for (const char* published : {"1/3", "2e3", "+1", "1-2", "-", ".", "0x10"}) {
    EXPECT_EQ(error(published, 1),
              absl::StrFormat("claim \"lab.effect\": published \"%s\" is not a "
                              "number but our value is 1",
                              published));
  }
  EXPECT_EQ(error("1", true),
            "claim \"lab.effect\": expected a number, found true");
  EXPECT_EQ(error("1", {1, 2}),
            "claim \"lab.effect\": expected a number, found [1,2]");
}

// The judgement against exact integer arithmetic: the value n / 2^7 rounds to
// the decimal p / 10^d when |n 10^d - p 2^7| is under half of 2^7, or is half
// of it and p is even.
TEST(Exact, AgreesWithIntegerArithmetic) {
  RandomStream draws(kSeed, "exact");
  int holds = 0;
  int ties = 0;
  for (int i = 0; i < kCases; ++i) {
    const int decimals = 1 + static_cast<int>(draws.UniformInt(5));
    int64_t power = 1;
    for (int k = 0; k < decimals; ++k) power *= 10;
    const int64_t n = draws.UniformInt(1 << 12);
    // A printed value near n / 2^7: its neighbours fail.
    const int64_t p = n * power / 128 + draws.UniformInt(3) - 1;
    if (p <= 0) continue;
    const int64_t distance = 2 * std::abs(n * power - p * 128);
    const bool tie = distance == 128;
    const bool expected = distance < 128 || (tie && p % 2 == 0);
    holds += expected ? 1 : 0;
    ties += tie ? 1 : 0;
    const std::string published =
        absl::StrFormat("%d.%0*d", p / power, decimals, p % power);
    const double ours = static_cast<double>(n) / 128;
    EXPECT_EQ(Exact(published, ours) == Verdict::kHolds, expected)
        << published << " and " << ours << ", seed " << kSeed << ", case " << i;
    EXPECT_EQ(Exact("-" + published, -ours) == Verdict::kHolds, expected)
        << published << " and " << ours << ", seed " << kSeed << ", case " << i;
  }
  // The draws meet every kind of case.
  EXPECT_GT(holds, kCases / 4);
  EXPECT_LT(holds, kCases * 3 / 4);
  EXPECT_GT(ties, 10);
}

// --- identity ---

Verdict Identity(double bound, Json ours) {
  return Judged(MakeClaim(ClaimKind::kIdentity, std::nullopt,
                          {{"bound", bound}, {"why", "rounding"}}),
                {{"ours", std::move(ours)}})
      .verdict;
}

TEST(Identity, BothSidesOfTheBound) {
  EXPECT_EQ(Identity(0.25, 0.25), Verdict::kHolds);
  EXPECT_EQ(Identity(0.25, std::nextafter(0.25, 1)), Verdict::kFails);
  EXPECT_EQ(Identity(0.25, -0.25), Verdict::kHolds);
  EXPECT_EQ(Identity(0.25, std::nextafter(-0.25, -1)), Verdict::kFails);
  EXPECT_EQ(Identity(0, 0.0), Verdict::kHolds);
  EXPECT_EQ(Identity(0, -0.0), Verdict::kHolds);
  EXPECT_EQ(Identity(0, 5e-324), Verdict::kFails);
  EXPECT_EQ(Identity(1, 1), Verdict::kHolds);
}

TEST(Identity, SaysTheBoundAndRejectsTexts) {
  const Claim claim =
      MakeClaim(ClaimKind::kIdentity, "1", {{"bound", 4.5e-16}, {"why", "x"}});
  EXPECT_EQ(Agreed(Judged(claim, {{"ours", 0}})), "at most 4.5e-16");
  EXPECT_EQ(ErrorOf(claim, {{"ours", "none"}}),
            "claim \"lab.effect\": expected a number, found \"none\"");
  for (const std::string value : {"NaN", "Infinity", "-Infinity"}) {
    EXPECT_EQ(ErrorOf(claim, {{"ours", value}}),
              "claim \"lab.effect\": expected a finite number, found " + value);
  }
}

// --- statistical ---

Claim StatisticalClaim(const std::string& published) {
  return MakeClaim(ClaimKind::kStatistical, published,
                   {{"error_pointer", "/error"}, {"multiple", 4}});
}

Json Measured(double ours, double error) {
  return {{"ours", ours}, {"error", error}};
}

TEST(Statistical, BothSidesOfBothBounds) {
  // Reach: 4 * 0.25 + 0.5 of a unit of 1.
  EXPECT_EQ(Judged(StatisticalClaim("10"), Measured(11.5, 0.25)).verdict,
            Verdict::kHolds);
  EXPECT_EQ(
      Judged(StatisticalClaim("10"), Measured(std::nextafter(11.5, 12), 0.25))
          .verdict,
      Verdict::kFails);
  EXPECT_EQ(Judged(StatisticalClaim("10"), Measured(8.5, 0.25)).verdict,
            Verdict::kHolds);
  EXPECT_EQ(
      Judged(StatisticalClaim("10"), Measured(std::nextafter(8.5, 8), 0.25))
          .verdict,
      Verdict::kFails);
}

TEST(Statistical, TheRoundingOfThePrintedValueCounts) {
  // A tiny standard error leaves half a unit of the last printed digit.
  EXPECT_EQ(Judged(StatisticalClaim("0.978"), Measured(0.97849, 1e-9)).verdict,
            Verdict::kHolds);
  EXPECT_EQ(Judged(StatisticalClaim("0.978"), Measured(0.97851, 1e-9)).verdict,
            Verdict::kFails);
  EXPECT_EQ(Judged(StatisticalClaim("0.98"), Measured(0.97851, 1e-9)).verdict,
            Verdict::kHolds);
  EXPECT_EQ(Judged(StatisticalClaim("-2.36"), Measured(-2.3649, 1e-9)).verdict,
            Verdict::kHolds);
}

TEST(Statistical, TheMultipleCounts) {
  Claim claim = StatisticalClaim("0.00");
  EXPECT_EQ(Judged(claim, Measured(0.3, 0.1)).verdict, Verdict::kHolds);
  claim.check["multiple"] = 2;
  EXPECT_EQ(Judged(claim, Measured(0.3, 0.1)).verdict, Verdict::kFails);
}

TEST(Statistical, SaysWhatItWouldDetect) {
  // Holds from 8.5 to 11.5 around 10.
  EXPECT_EQ(Agreed(Judged(StatisticalClaim("10"), Measured(10, 0.25))),
            "within 1.5; would detect +2 or -2");
  // 1.5 + 1 = 2.5 below the value, 0.5 above it.
  EXPECT_EQ(Agreed(Judged(StatisticalClaim("10"), Measured(9, 0.25))),
            "within 1.5; would detect +1 or -3");
  EXPECT_EQ(Agreed(Judged(StatisticalClaim("0.978"), Measured(0.978, 0.001))),
            "within 0.0045; would detect +0.005 or -0.005");
  EXPECT_EQ(Agreed(Judged(StatisticalClaim("10"), Measured(13, 0.25))),
            "within 1.5; is 3 off, 12.0 standard errors");
}

// "-0.15" as 2 decimals and -15 units.
std::string Decimal(int64_t units, int decimals) {
  int64_t power = 1;
  for (int k = 0; k < decimals; ++k) power *= 10;
  const std::string sign = units < 0 ? "-" : "";
  units = std::abs(units);
  std::string text = sign + std::to_string(units / power);
  if (decimals > 0) text += absl::StrFormat(".%0*d", decimals, units % power);
  return text;
}

// The reported changes are the smallest ones: one unit less still holds, the
// change itself fails. Judged again with the published value moved.
TEST(Statistical, DetectsTheReportedChangeAndNoSmallerOne) {
  RandomStream draws(kSeed, "statistical");
  int cases = 0;
  for (int i = 0; i < kCases; ++i) {
    const int decimals = static_cast<int>(draws.UniformInt(4));
    int64_t power = 1;
    for (int k = 0; k < decimals; ++k) power *= 10;
    const int64_t units = static_cast<int64_t>(draws.UniformInt(2000)) - 1000;
    const double printed =
        static_cast<double>(units) / static_cast<double>(power);
    // Whole quarters of a unit, so that many bounds are met exactly, up to the
    // rounding that the report must not be fooled by.
    const double error = (1 + draws.UniformInt(40)) / (4.0 * power);
    const double ours =
        printed + (static_cast<double>(draws.UniformInt(41)) - 20) / 8 * error;
    const Json results = Measured(ours, error);
    const Judgement judgement =
        Judged(StatisticalClaim(Decimal(units, decimals)), results);
    if (judgement.verdict != Verdict::kHolds) continue;
    ++cases;
    const Within* rule = std::get_if<Within>(&judgement.agreement.rule);
    ASSERT_TRUE(rule != nullptr && rule->detectable.has_value());
    const auto [shown_decimals, up, down] = *rule->detectable;
    EXPECT_EQ(shown_decimals, decimals);
    const auto verdict_at = [&](double change) {
      const int64_t moved = units + std::llround(change * power);
      return Judged(StatisticalClaim(Decimal(moved, decimals)), results)
          .verdict;
    };
    const double unit = 1.0 / static_cast<double>(power);
    const std::string context = absl::StrFormat(
        "%s, ours %.17g, error %.17g: %s, seed %d, case %d",
        Decimal(units, decimals), ours, error, Agreed(judgement), kSeed, i);
    EXPECT_EQ(verdict_at(up), Verdict::kFails) << context;
    EXPECT_EQ(verdict_at(up - unit), Verdict::kHolds) << context;
    EXPECT_EQ(verdict_at(-down), Verdict::kFails) << context;
    EXPECT_EQ(verdict_at(-down + unit), Verdict::kHolds) << context;
  }
  EXPECT_GE(cases, 1000);
}

TEST(Statistical, RejectsWhatIsNoStandardError) {
  const auto error = [](Json standard_error) {
    return ErrorOf(StatisticalClaim("10"),
                   {{"ours", 10}, {"error", std::move(standard_error)}});
  };
  EXPECT_EQ(error(0.0),
            "claim \"lab.effect\": standard error 0.0 is not positive");
  EXPECT_EQ(error(-0.5),
            "claim \"lab.effect\": standard error -0.5 is not positive");
  EXPECT_EQ(error("NaN"),
            "claim \"lab.effect\": at \"/error\": expected a finite number, "
            "found NaN");
  EXPECT_EQ(error("Infinity"),
            "claim \"lab.effect\": at \"/error\": expected a finite number, "
            "found Infinity");
  EXPECT_EQ(error({1}),
            "claim \"lab.effect\": at \"/error\": expected a number, found "
            "[1]");
  EXPECT_EQ(ErrorOf(StatisticalClaim("a few"), Measured(10, 1)),
            "claim \"lab.effect\": published \"a few\" is not a number");
  EXPECT_EQ(ErrorOf(StatisticalClaim("10"), {{"ours", "ten"}, {"error", 1}}),
            "claim \"lab.effect\": expected a number, found \"ten\"");
  EXPECT_EQ(ErrorOf(StatisticalClaim("10"), Measured(std::nan(""), 1)),
            "claim \"lab.effect\": expected a finite number, found NaN");
}

}  // namespace
}  // namespace softlookup
