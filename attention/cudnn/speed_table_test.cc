#include "attention/cudnn/speed_table.h"

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "base/json.h"
#include "gtest/gtest.h"

namespace softlookup::cudnn {
namespace {

// 2^43 operations forward; 2^43 / 1e12 = 8.796 TFLOP.
SpeedRow Row() {
  return {
      .speed_case = {.width = 128, .length = 16384},
      .samples = {.ours = {0.02, 0.02, 0.04}, .theirs = {0.02, 0.022, 0.02}}};
}

TEST(SpeedTableTest, LinesStandUnderTheHeader) {
  EXPECT_EQ(SpeedHeader(),
            "      D      T mask   pass       ours  PyTorch  ratio   "
            "middle half   target  % product\n");
  // 8.796 / 0.02 = 440; rounds 1, 1.1 and 0.5.
  EXPECT_EQ(SpeedLine(Row(), 800),
            "    128  16384 full   forward     440      440  1.000   "
            "0.750-1.050      met         55\n");
}

TEST(SpeedTableTest, TheTargetIsThreePercent) {
  SpeedRow row = Row();
  row.speed_case.causal = true;
  row.speed_case.backward = true;
  row.samples.theirs = {0.0195, 0.0195, 0.0195};
  EXPECT_TRUE(SpeedJson(row, std::nullopt)["ratio"]["met"]);
  row.samples.theirs = {0.0193, 0.0193, 0.0193};
  EXPECT_FALSE(SpeedJson(row, std::nullopt)["ratio"]["met"]);
  // 2.5 times the operations, halved: 11 TFLOP.
  EXPECT_EQ(SpeedLine(row, 800),
            "    128  16384 causal backward    550      570  0.965   "
            "0.724-0.965  not met         69\n");
}

TEST(SpeedTableTest, WhatIsMissingIsADash) {
  SpeedRow row = Row();
  row.samples.theirs.clear();
  row.samples.theirs_status = absl::UnavailableError("no PyTorch");
  EXPECT_EQ(SpeedLine(row, std::nullopt),
            "    128  16384 full   forward     440        -      -           "
            "  -        -          -\n");
  const Json json = SpeedJson(row, std::nullopt);
  EXPECT_EQ(json["pytorch"]["absent"], "no PyTorch");
  EXPECT_FALSE(json.contains("ratio"));
  EXPECT_FALSE(json.contains("share_of_product"));
}

TEST(SpeedTableTest, JsonHasWhatTheLineHas) {
  const Json json = SpeedJson(Row(), 800);
  EXPECT_EQ(json["width"], 128);
  EXPECT_EQ(json["length"], 16384);
  EXPECT_EQ(json["batch"], 1);
  EXPECT_EQ(json["causal"], false);
  EXPECT_EQ(json["backward"], false);
  EXPECT_EQ(json["ours"]["median_seconds"], 0.02);
  EXPECT_EQ(json["ours"]["minimum_seconds"], 0.02);
  EXPECT_EQ(json["ours"]["rounds"], 3);
  EXPECT_NEAR(json["ours"]["teraflops"], 439.8, 0.1);
  EXPECT_NEAR(json["pytorch"]["teraflops"], 439.8, 0.1);
  EXPECT_DOUBLE_EQ(json["ratio"]["median"], 1);
  EXPECT_DOUBLE_EQ(json["ratio"]["low"], 0.75);
  EXPECT_DOUBLE_EQ(json["ratio"]["high"], 1.05);
  EXPECT_EQ(json["ratio"]["met"], true);
  EXPECT_NEAR(json["share_of_product"], 0.5498, 0.0001);
}

TEST(SpeedTableTest, TheFasterProductIsTheYardstick) {
  // 2^40 operations: 1.0995 TFLOP.
  ProductSpeed product = {
      .product = {.rows = 8192, .columns = 8192, .inner = 8192},
      .samples = {.ours = {0.0016}, .theirs = {0.0014}}};
  EXPECT_NEAR(product.Best().value(), 785.4, 0.1);
  EXPECT_EQ(ProductLine(product),
            "matrix product 8192 x 8192 x 8192, bfloat16: cuDNN 687 TFLOP/s, "
            "PyTorch 785; % of PyTorch's below\n");
  product.samples.theirs = {0.0018};
  EXPECT_NEAR(product.Best().value(), 687.2, 0.1);
  EXPECT_EQ(ProductLine(product),
            "matrix product 8192 x 8192 x 8192, bfloat16: cuDNN 687 TFLOP/s, "
            "PyTorch 611; % of cuDNN's below\n");
  const Json json = ProductJson(product);
  EXPECT_EQ(json["inner"], 8192);
  EXPECT_NEAR(json["ours"]["teraflops"], 687.2, 0.1);
  EXPECT_NEAR(json["pytorch"]["teraflops"], 610.8, 0.1);
}

TEST(SpeedTableTest, AProductThatOneOrNobodyHas) {
  ProductSpeed product = {
      .product = {.rows = 8192, .columns = 8192, .inner = 8192},
      .ours_status = absl::UnimplementedError("no plan")};
  product.samples.theirs = {0.0014};
  EXPECT_EQ(ProductLine(product),
            "matrix product 8192 x 8192 x 8192, bfloat16: cuDNN - TFLOP/s, "
            "PyTorch 785; % of PyTorch's below\n");
  EXPECT_EQ(ProductJson(product)["ours"]["absent"], "no plan");
  product.samples.theirs.clear();
  EXPECT_EQ(product.Best(), std::nullopt);
  EXPECT_EQ(ProductLine(product),
            "matrix product 8192 x 8192 x 8192, bfloat16: cuDNN - TFLOP/s, "
            "PyTorch -\n");
}

TEST(SpeedTableTest, HostCost) {
  EXPECT_EQ(HostLine("forward", 6.25),
            "host: 6.2 us a forward call; target below 10: met\n");
  EXPECT_EQ(HostLine("backward", 10),
            "host: 10.0 us a backward call; target below 10: not met\n");
  EXPECT_EQ(HostJson(6.25)["met"], true);
  EXPECT_EQ(HostJson(10)["met"], false);
  EXPECT_EQ(HostJson(10)["microseconds"], 10);
}

}  // namespace
}  // namespace softlookup::cudnn
