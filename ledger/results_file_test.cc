#include "ledger/results_file.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/file.h"
#include "base/json.h"
#include "gtest/gtest.h"
#include "ledger/claims.h"

namespace softlookup {
namespace {

// A file of the test's own with this content.
std::string FileWith(const std::string& content) {
  static int count = 0;
  const std::string path =
      testing::TempDir() + "/file_" + std::to_string(++count) + ".json";
  EXPECT_TRUE(WriteFileAtomically(path, content).ok());
  return path;
}

Json ValidResults() {
  return {{"experiment", "lab"},
          {"parameters", {{"keys", 16}}},
          {"results", {{"mean", 0.5}}},
          {"measurements", {{"seconds", 0.25}}},
          {"provenance", Provenance(1)}};
}

TEST(Provenance, SaysCompilerInstructionSetThreadsAndVersion) {
  const Json provenance = Provenance(3);
  EXPECT_EQ(provenance["threads"], 3);
  EXPECT_EQ(provenance["version"], "0.1.0");
  const std::string compiler = provenance["compiler"].get<std::string>();
#if defined(__clang__)
  EXPECT_EQ(compiler.find("clang "), 0u);
#else
  EXPECT_EQ(compiler.find("GCC "), 0u);
#endif
  // A version follows.
  EXPECT_NE(compiler.find_first_of("0123456789"), std::string::npos);
#if defined(__x86_64__)
  EXPECT_EQ(provenance["instruction_set"],
            "x86-64, fused multiply-add in elementary functions");
#endif
  EXPECT_EQ(provenance.size(), 4u);
}

TEST(ReadResultsFile, ReadsWhatWasWritten) {
  const auto read = ReadResultsFile(FileWith(DumpJson(ValidResults())));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, ValidResults());
}

TEST(ReadResultsFile, NamesTheMissingMember) {
  for (const char* member :
       {"experiment", "parameters", "results", "measurements", "provenance"}) {
    Json spoiled = ValidResults();
    spoiled.erase(member);
    const std::string path = FileWith(DumpJson(spoiled));
    EXPECT_EQ(
        ReadResultsFile(path).status(),
        absl::InvalidArgumentError(path + ": no member \"" + member + "\""));
  }
}

TEST(ReadResultsFile, RejectsWhatIsNoResultsFile) {
  std::string path = FileWith("[1, 2]");
  EXPECT_EQ(ReadResultsFile(path).status(),
            absl::InvalidArgumentError(path + ": no member \"experiment\""));
  Json spoiled = ValidResults();
  spoiled["experiment"] = 5;
  path = FileWith(DumpJson(spoiled));
  EXPECT_EQ(
      ReadResultsFile(path).status(),
      absl::InvalidArgumentError(path + ": \"experiment\" must be a string"));
  path = FileWith("{\"experiment\": ");
  const absl::Status status = ReadResultsFile(path).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(status.message()).find(path + ": not valid JSON"), 0u);
  EXPECT_EQ(ReadResultsFile("/nonexistent/lab.json").status().code(),
            absl::StatusCode::kNotFound);
}

TEST(ReadLedger, ReadsAndRejects) {
  const auto ledger = ReadLedger(FileWith(
      R"([{"id": "paper.result", "section": "1", "statement": "S.",
           "statement_zh": "述。", "published": null, "kind": "cited"}])"));
  ASSERT_TRUE(ledger.ok()) << ledger.status();
  ASSERT_EQ(ledger->size(), 1u);
  EXPECT_EQ((*ledger)[0].id, "paper.result");

  std::string path = FileWith("[{}]");
  EXPECT_EQ(ReadLedger(path).status(),
            absl::InvalidArgumentError(
                path + ": claim \"number 0\": no field \"id\""));
  path = FileWith("[");
  EXPECT_EQ(ReadLedger(path).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ReadLedger("/nonexistent/claims.json").status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace softlookup
