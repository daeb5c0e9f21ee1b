#include "ledger/agreement.h"

#include <optional>
#include <string>

#include "base/json.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

std::string Text(const Agreement& agreement) {
  return AgreementText(agreement, std::nullopt);
}

TEST(AgreementText, EveryRule) {
  EXPECT_EQ(Text({SameText{}}), "the same text");
  EXPECT_EQ(Text({SameDecimals{0}}), "the same integer");
  EXPECT_EQ(Text({SameDecimals{1}}), "the same 1 decimal");
  EXPECT_EQ(Text({SameDecimals{3}}), "the same 3 decimals");
  EXPECT_EQ(Text({AtMost{4.5e-16}}), "at most 4.5e-16");
  EXPECT_EQ(Text({AtMost{0}}), "at most 0");
  EXPECT_EQ(Text({Within{.reach = 0.01234,
                         .distance = 0.001,
                         .standard_errors = 0.5,
                         .detectable = {{2, 0.02, 0.01}}}}),
            "within 0.0123; would detect +0.02 or -0.01");
  EXPECT_EQ(Text({Within{
                .reach = 0.01234, .distance = 0.5, .standard_errors = 12.48}}),
            "within 0.0123; is 0.5 off, 12.5 standard errors");
  EXPECT_EQ(
      Text({Inequality{
          .op = "==", .threshold = 0, .control = 1, .control_fails = true}}),
      "== 0; control 1 fails it");
  EXPECT_EQ(Text({Inequality{.op = ">=",
                             .threshold = 10,
                             .interval = {{9.5, 100.04}},
                             .control = -1.5e-7,
                             .control_fails = false}}),
            ">= 10, interval [9.5, 100]; control -1.5e-07 meets it");
  EXPECT_EQ(Text({Literature{}}), "literature");
}

TEST(AgreementText, TheOtherReadingAsOursIsShown) {
  EXPECT_EQ(AgreementText(
                {SameDecimals{0}, Agreement::OtherReading{7.5, false}}, "8"),
            "the same integer; other reading: 7.50 fails");
  EXPECT_EQ(AgreementText({SameText{}, Agreement::OtherReading{"(2, 5)", true}},
                          "(2, 5)"),
            "the same text; other reading: (2, 5) holds");
}

TEST(AgreementToJson, EveryRule) {
  EXPECT_EQ(AgreementToJson({SameText{}}), Json({{"rule", "same_text"}}));
  EXPECT_EQ(AgreementToJson({SameDecimals{3}}),
            Json({{"rule", "same_decimals"}, {"decimals", 3}}));
  EXPECT_EQ(AgreementToJson({AtMost{0.5}}),
            Json({{"rule", "at_most"}, {"limit", 0.5}}));
  EXPECT_EQ(AgreementToJson(
                {Within{.reach = 1.5, .distance = 3, .standard_errors = 12}}),
            Json({{"rule", "within"},
                  {"reach", 1.5},
                  {"distance", 3.0},
                  {"standard_errors", 12.0}}));
  EXPECT_EQ(
      AgreementToJson({Within{.reach = 1.5,
                              .distance = 1,
                              .standard_errors = 4,
                              .detectable = {{0, 1, 3}}}}),
      Json({{"rule", "within"},
            {"reach", 1.5},
            {"distance", 1.0},
            {"standard_errors", 4.0},
            {"detectable", {{"decimals", 0}, {"up", 1.0}, {"down", 3.0}}}}));
  EXPECT_EQ(AgreementToJson({Inequality{.op = "<",
                                        .threshold = 2,
                                        .interval = {{1, 1.9}},
                                        .control = 5,
                                        .control_fails = true}}),
            Json({{"rule", "inequality"},
                  {"op", "<"},
                  {"threshold", 2.0},
                  {"interval", {1.0, 1.9}},
                  {"control", 5.0},
                  {"control_fails", true}}));
  EXPECT_EQ(AgreementToJson({Literature{}}), Json({{"rule", "literature"}}));
}

TEST(AgreementToJson, LeavesOutWhatThereIsNot) {
  const Json json = AgreementToJson({Inequality{.op = ">", .control = 1}});
  EXPECT_FALSE(json.contains("interval"));
  EXPECT_FALSE(json.contains("other_reading"));
  EXPECT_EQ(AgreementToJson({SameText{}, Agreement::OtherReading{4, false}}),
            Json({{"rule", "same_text"},
                  {"other_reading", {{"ours", 4}, {"holds", false}}}}));
}

TEST(OursText, TwoDigitsMoreThanPrinted) {
  EXPECT_EQ(OursText(0.24826, "0.248"), "0.24826");
  EXPECT_EQ(OursText(3.0, "3"), "3.00");
  EXPECT_EQ(OursText(1.0 / 3, std::nullopt), "0.333333");
  EXPECT_EQ(OursText(1.0 / 3, "1/3"), "0.333333");
  EXPECT_EQ(OursText(5, "3"), "5");
  EXPECT_EQ(OursText("(2, 1)", "(B, 1)"), "(2, 1)");
}

}  // namespace
}  // namespace softlookup
