#include "experiments/induction_sweep/seeds.h"

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

Json Estimate(double value) { return {{"value", value}}; }

// A results file in which ablating head 1 of layer 0 leaves `without` and head
// 0 leaves `other`.
Json OneRun(int64_t seed, double accuracy, double without, double other) {
  const auto effect = [](double accuracy, double loss) {
    return Json{{"accuracy", Estimate(accuracy)},
                {"loss_increase", Estimate(loss)}};
  };
  const auto head = [&](int64_t layer, int64_t index, double left) {
    return Json{{"layer", layer},
                {"head", index},
                {"zero", effect(left, 1 - left)},
                {"mean", effect(left, 1 - left)},
                {"pattern_preserving", effect(0.97, 0)}};
  };
  const auto look = [](int64_t layer, int64_t index) {
    return Json{{"layer", layer},
                {"head", index},
                {"prefix_matching", Estimate(0.1 * static_cast<double>(layer))},
                {"previous_token", Estimate(0.4)},
                {"eigenvalue_copying", 0.5}};
  };
  Json results;
  results["clean"] = {{"accuracy", Estimate(accuracy)},
                      {"repeat_loss", Estimate(0.1)},
                      {"in_context", Estimate(-4)}};
  results["chosen"] = {{"previous_token", {{"layer", 0}, {"head", 1}}},
                       {"induction", {{"layer", 1}, {"head", 0}}}};
  results["single_heads"] = {head(0, 0, other), head(0, 1, without),
                             head(1, 0, 0.8), head(1, 1, 0.95)};
  results["layers"] = {effect(0.02, 4), effect(0.03, 4)};
  results["layers"][0]["layer"] = 0;
  results["layers"][1]["layer"] = 1;
  results["paths"] = {{"key", effect(0.05, 4)},
                      {"query", effect(0.98, 0)},
                      {"value", effect(0.98, 0)}};
  results["heads"] = {look(0, 0), look(0, 1), look(1, 0), look(1, 1)};
  results["composition"]["pairs"] =
      Json::array({{{"from", {{"layer", 0}, {"head", 1}}},
                    {"to", {{"layer", 1}, {"head", 0}}},
                    {"key_deviations", 9.0},
                    {"query_deviations", -1.0},
                    {"value_deviations", -2.0}}});
  const Json ideal = {{"recovered", 0.9}, {"recovered_off", 0.1}};
  results["ideal_patterns"] = {{"previous_token", ideal}, {"induction", ideal}};
  results["phase_change"] = {{"found", true},
                             {"begin", 400},
                             {"end", 500},
                             {"half", 450},
                             {"share_of_training", 0.1},
                             {"induction_half", 475},
                             {"previous_token_half", 550},
                             {"bump", {{"found", false}}}};
  results["curve"] = Json::array({{{"step", 0}}, {{"step", 1000}}});
  return {
      {"experiment", "induction"},
      {"parameters", {{"seed", seed}, {"controls", false}, {"steps", 1000}}},
      {"results", results}};
}

TEST(ShareJson, HasWilsonsInterval) {
  // Wilson's interval for 7 of 8 at 95 %, from its closed form worked by hand
  // with z = 1.96: (0.875 + 0.2401 -+ 1.96 sqrt(0.013672 + 0.015006)) / 1.4802.
  const Json share = ShareJson(7, 8);
  EXPECT_EQ(share["share"], 0.875);
  EXPECT_NEAR(share["interval"][0].get<double>(), 0.5291, 2e-4);
  EXPECT_NEAR(share["interval"][1].get<double>(), 0.9776, 2e-4);
  EXPECT_EQ(ShareJson(0, 8)["interval"][0], 0);
  EXPECT_EQ(ShareJson(8, 8)["interval"][1], 1);
}

TEST(SummarizeRuns, CountsTheModelsThatFormedTheCircuit) {
  const auto json = SummarizeRuns({
      OneRun(1, 0.95, 0.1, 0.95),   // formed
      OneRun(2, 0.9, 0.5, 0.9),     // just so
      OneRun(3, 0.89, 0.1, 0.95),   // does not continue repeats
      OneRun(4, 0.95, 0.51, 0.95),  // does without the head
      OneRun(5, 0.95, 0.1, 0.89),   // needs the other one too
      OneRun(6, 0.95, 0.95, 0.1),   // the other way round
  });
  ASSERT_TRUE(json.ok()) << json.status();
  std::vector<bool> formed;
  for (const Json& run : (*json)["runs"]) {
    formed.push_back(run["formed"].get<bool>());
  }
  EXPECT_EQ(formed,
            (std::vector<bool>{true, true, false, false, false, false}));
  EXPECT_EQ((*json)["formed"]["count"], 2);
  EXPECT_EQ((*json)["formed"]["of"], 6);
  EXPECT_EQ((*json)["formed_with_other"]["count"], 1);
  EXPECT_EQ((*json)["phase_changes"]["count"], 6);
  EXPECT_EQ((*json)["loss_bumps"]["count"], 0);
  const Json& means = (*json)["over_runs"];
  EXPECT_NEAR(means["accuracy"]["value"].get<double>(),
              (0.95 * 4 + 0.9 + 0.89) / 6, 1e-12);
  EXPECT_EQ(means["accuracy"]["lowest"], 0.89);
  EXPECT_NEAR(means["without_previous_token"]["highest"].get<double>(), 0.95,
              1e-12);
  EXPECT_NEAR(means["induction_lag_share"]["value"].get<double>(), 0.025,
              1e-12);
  EXPECT_NEAR(means["previous_token_lag_share"]["value"].get<double>(), 0.1,
              1e-12);
  EXPECT_EQ(means["without_induction_layer"]["value"], 0.03);
}

TEST(SummarizeRuns, WhatNotAllHaveHasNoMean) {
  Json flat = OneRun(2, 0.1, 0.1, 0.1);
  flat["results"]["phase_change"] = {{"found", false},
                                     {"bump", {{"found", true}}}};
  const auto json = SummarizeRuns({OneRun(1, 0.95, 0.1, 0.95), flat});
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_FALSE((*json)["over_runs"].contains("phase_half"));
  EXPECT_EQ((*json)["phase_changes"]["count"], 1);
  EXPECT_EQ((*json)["loss_bumps"]["count"], 1);
}

TEST(SummarizeRuns, RefusesRunsThatAreNotAlike) {
  const auto error = [](const std::vector<Json>& runs) {
    return std::string(SummarizeRuns(runs).status().message());
  };
  const Json run = OneRun(1, 0.95, 0.1, 0.95);
  EXPECT_EQ(error({run}), "there are 1 runs; allowed: 2 or more");
  EXPECT_EQ(error({run, run}),
            "two runs have the seed 1; allowed: each its own");
  Json other = OneRun(2, 0.95, 0.1, 0.95);
  other["parameters"]["steps"] = 999;
  EXPECT_EQ(error({run, other}),
            "runs differ in steps: 1000 and 999; allowed: to differ in the "
            "seed");
  other = OneRun(2, 0.95, 0.1, 0.95);
  other["experiment"] = "masking";
  EXPECT_EQ(error({run, other}),
            "a run is of the experiment \"masking\"; allowed: \"induction\"");
  other = OneRun(2, 0.95, 0.1, 0.95);
  other["results"].erase("paths");
  EXPECT_NE(error({run, other}).find("no results file of the induction"),
            std::string::npos);
}

}  // namespace
}  // namespace softlookup
