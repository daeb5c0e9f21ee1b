// Runs the fuzz target over its corpus: what once made the reader fail stays
// fixed, without a fuzzer.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "base/file.h"
#include "base/safetensors/safetensors.h"
#include "gtest/gtest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace softlookup {
namespace {

TEST(SafetensorsFuzzTest, Corpus) {
  int accepted = 0;
  int refused = 0;
  for (const std::filesystem::directory_entry& entry :
       std::filesystem::directory_iterator(
           "base/safetensors/safetensors_corpus")) {
    const std::string path = entry.path().string();
    SCOPED_TRACE(path);
    const absl::StatusOr<std::string> bytes = ReadFile(path);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes->data()),
                           bytes->size());
    // The names say which files are well formed.
    const bool good = absl::StartsWith(entry.path().filename().string(), "ok_");
    EXPECT_EQ(ParseSafetensors(*bytes, path).ok(), good);
    ++(good ? accepted : refused);
  }
  EXPECT_GT(accepted, 0);
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace softlookup
