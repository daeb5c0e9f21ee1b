#include "attention/cudnn/check_report.h"

#include <string>

#include "absl/status/status.h"
#include "base/file.h"
#include "base/json.h"
#include "gtest/gtest.h"

namespace softlookup::cudnn {
namespace {

Json Read(const std::string& path) {
  const auto text = ReadFile(path);
  EXPECT_TRUE(text.ok()) << text.status();
  const auto json = ParseJson(text.ok() ? *text : "null", path);
  EXPECT_TRUE(json.ok()) << json.status();
  return json.ok() ? *json : Json();
}

TEST(CheckReportTest, KeepsWhatFailed) {
  CheckReport report("nowhere.json");
  report.Check(true, "fine");
  report.Check(absl::OkStatus(), "fine too");
  EXPECT_EQ(report.failures(), 0);
  EXPECT_EQ(report.json()["failures"], Json::array());
  report.Check(false, "too far");
  report.Check(absl::InternalError("it broke"), "case 3");
  EXPECT_EQ(report.failures(), 2);
  EXPECT_EQ(report.json()["failures"], Json({"too far", "case 3: it broke"}));
}

TEST(CheckReportTest, EachWriteHasAllThereIsSoFar) {
  const std::string path = testing::TempDir() + "/check_report_test.json";
  CheckReport report(path);
  report.json()["device"] = "a card";
  ASSERT_TRUE(report.Write().ok());
  EXPECT_EQ(Read(path)["device"], "a card");
  EXPECT_FALSE(Read(path).contains("speed"));
  report.json()["speed"] = 1.5;
  report.Check(false, "slow");
  ASSERT_TRUE(report.Write().ok());
  EXPECT_EQ(Read(path)["device"], "a card");
  EXPECT_EQ(Read(path)["speed"], 1.5);
  EXPECT_EQ(Read(path)["failures"], Json({"slow"}));
}

TEST(CheckReportTest, SaysWhereItCannotWrite) {
  const CheckReport report("/no/such/folder/out.json");
  const absl::Status status = report.Write();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(status.message().find("/no/such/folder"), std::string::npos);
}

}  // namespace
}  // namespace softlookup::cudnn
