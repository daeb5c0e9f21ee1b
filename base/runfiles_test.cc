#include "base/runfiles.h"

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "base/file.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

// Sets an environment variable, or unsets it, until the end of the scope.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::optional<std::string>& value)
      : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    Set(value);
  }
  ~ScopedVariable() { Set(old_); }

 private:
  void Set(const std::optional<std::string>& value) {
    if (value.has_value()) {
      ::setenv(name_, value->c_str(), /*overwrite=*/1);
    } else {
      ::unsetenv(name_);
    }
  }
  const char* name_;
  std::optional<std::string> old_;
};

// A runfiles folder that holds softlookup/NAME.
std::string FolderWith(const std::string& folder, const std::string& name) {
  const std::string root = testing::TempDir() + "/" + folder;
  EXPECT_TRUE(MakeDirectories(root + "/softlookup").ok());
  EXPECT_TRUE(WriteFileAtomically(root + "/softlookup/" + name, "x").ok());
  return root;
}

TEST(RunfilePath, FindsADataFileOfATest) {
  const auto path = RunfilePath("base/BUILD");
  ASSERT_TRUE(path.ok()) << path.status();
  const auto content = ReadFile(*path);
  ASSERT_TRUE(content.ok());
  EXPECT_NE(content->find("runfiles_test"), std::string::npos);
}

TEST(RunfilePath, FindsItBesideTheProgram) {
  // As for a binary started from bazel-bin.
  const ScopedVariable no_test("TEST_SRCDIR", std::nullopt);
  const ScopedVariable no_runfiles("RUNFILES_DIR", std::nullopt);
  const auto path = RunfilePath("base/BUILD");
  ASSERT_TRUE(path.ok()) << path.status();
  EXPECT_NE(path->find("runfiles_test.runfiles/softlookup/base/BUILD"),
            std::string::npos);
}

TEST(RunfilePath, ATestLooksInItsOwnFolderFirst) {
  const std::string test = FolderWith("test", "data");
  const std::string runfiles = FolderWith("runfiles", "data");
  const ScopedVariable set_runfiles("RUNFILES_DIR", runfiles);
  {
    const ScopedVariable set_test("TEST_SRCDIR", test);
    EXPECT_EQ(RunfilePath("data").value(), test + "/softlookup/data");
  }
  {
    const ScopedVariable no_test("TEST_SRCDIR", std::nullopt);
    EXPECT_EQ(RunfilePath("data").value(), runfiles + "/softlookup/data");
  }
  // What one place lacks another may have.
  const ScopedVariable elsewhere("TEST_SRCDIR", testing::TempDir() + "/empty");
  EXPECT_EQ(RunfilePath("data").value(), runfiles + "/softlookup/data");
}

TEST(RunfilePath, SaysWhatIsMissing) {
  EXPECT_EQ(RunfilePath("base/nothing.txt").status(),
            absl::NotFoundError(
                "base/nothing.txt not found beside the program; start it with "
                "`bazel run`, or from bazel-bin"));
}

}  // namespace
}  // namespace softlookup
