#include "experiments/frame/experiment_parameters.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/reflection.h"
#include "absl/status/status.h"
#include "gtest/gtest.h"

// Parameters by reflection: those of this file, "experiment_parameters_test".
ABSL_FLAG(int64_t, zeta, 16, "An integer.");
ABSL_FLAG(int32_t, eta, -3, "A short integer.");
ABSL_FLAG(uint64_t, theta, 18446744073709551615u, "The largest integer.");
ABSL_FLAG(uint32_t, iota, 7, "A short natural number.");
ABSL_FLAG(double, alpha, 0.1, "A real number.");
ABSL_FLAG(bool, beta, true, "A switch.");
ABSL_FLAG(std::string, gamma, "plain", "A word.");
ABSL_FLAG(std::vector<std::string>, delta, (std::vector<std::string>{"a", "b"}),
          "A list.");

namespace softlookup {
namespace {

constexpr char kHere[] = "experiment_parameters_test";

TEST(ParameterValues, AllFlagsOfTheFileByNameAndWithTheirTypes) {
  const Json values = ParameterValues(kHere);
  EXPECT_EQ(values.dump(),
            "{\"alpha\":0.1,\"beta\":true,\"delta\":\"a,b\",\"eta\":-3,"
            "\"gamma\":\"plain\",\"iota\":7,\"theta\":18446744073709551615,"
            "\"zeta\":16}");
  EXPECT_TRUE(values["alpha"].is_number_float());
  EXPECT_TRUE(values["zeta"].is_number_integer());
}

TEST(ParameterValues, NoneOfAnotherFile) {
  EXPECT_EQ(ParameterValues("experiment_parameters"), Json::object());
  EXPECT_EQ(ParameterValues("experiment_parameters_test.cc"), Json::object());
  EXPECT_EQ(ParameterValues(""), Json::object());
  // Abseil's and GoogleTest's own flags are no parameters.
  EXPECT_FALSE(ParameterValues(kHere).contains("help"));
}

TEST(ChangedParameters, NoneAtTheDefaults) {
  EXPECT_TRUE(ChangedParameters(kHere).empty());
}

TEST(ChangedParameters, NamesWhatDiffersByName) {
  const absl::FlagSaver restore;
  absl::SetFlag(&FLAGS_zeta, 8);
  absl::SetFlag(&FLAGS_alpha, 0.25);
  absl::SetFlag(&FLAGS_beta, false);
  absl::SetFlag(&FLAGS_gamma, "plain");  // set, but to its default
  EXPECT_EQ(
      ChangedParameters(kHere),
      (std::vector<std::string>{"--alpha=0.25", "--beta=false", "--zeta=8"}));
  EXPECT_EQ(ParameterValues(kHere)["zeta"], 8);
  EXPECT_TRUE(ChangedParameters("experiment_parameters").empty());
}

TEST(ChangedParameters, SeesTheSmallestChange) {
  const absl::FlagSaver restore;
  absl::SetFlag(&FLAGS_alpha, std::nextafter(0.1, 1));
  ASSERT_EQ(ChangedParameters(kHere).size(), 1u);
  EXPECT_EQ(ChangedParameters(kHere)[0], "--alpha=0.10000000000000002");
  EXPECT_EQ(ParameterValues(kHere)["alpha"], std::nextafter(0.1, 1));
}

TEST(CheckParameter, IntegersBothSidesOfBothBounds) {
  const auto check = [](int64_t value) {
    return CheckParameter("keys", value, int64_t{1}, int64_t{4096});
  };
  EXPECT_TRUE(check(1).ok());
  EXPECT_TRUE(check(4096).ok());
  EXPECT_EQ(check(0),
            absl::InvalidArgumentError("--keys is 0; allowed: 1 to 4096"));
  EXPECT_EQ(check(4097),
            absl::InvalidArgumentError("--keys is 4097; allowed: 1 to 4096"));
  EXPECT_EQ(check(std::numeric_limits<int64_t>::min()),
            absl::InvalidArgumentError(
                "--keys is -9223372036854775808; allowed: 1 to 4096"));
}

TEST(CheckParameter, RealNumbersBothSidesOfBothBounds) {
  const auto check = [](double value) {
    return CheckParameter("scale", value, -0.5, 1.0);
  };
  EXPECT_TRUE(check(-0.5).ok());
  EXPECT_TRUE(check(1.0).ok());
  // In full, however close.
  EXPECT_EQ(check(std::nextafter(1.0, 2)),
            absl::InvalidArgumentError(
                "--scale is 1.0000000000000002; allowed: -0.5 to 1.0"));
  EXPECT_EQ(check(std::nextafter(-0.5, -1)),
            absl::InvalidArgumentError(
                "--scale is -0.5000000000000001; allowed: -0.5 to 1.0"));
}

TEST(CheckParameter, NonFiniteIsOutOfRange) {
  const auto check = [](double value) {
    return CheckParameter("scale", value, -1e300, 1e300);
  };
  EXPECT_EQ(
      check(std::nan("")),
      absl::InvalidArgumentError("--scale is NaN; allowed: -1e+300 to 1e+300"));
  EXPECT_EQ(check(HUGE_VAL),
            absl::InvalidArgumentError(
                "--scale is Infinity; allowed: -1e+300 to 1e+300"));
  EXPECT_EQ(check(-HUGE_VAL),
            absl::InvalidArgumentError(
                "--scale is -Infinity; allowed: -1e+300 to 1e+300"));
}

}  // namespace
}  // namespace softlookup
