#include "base/file.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

// A message as GoogleTest prints it best.
std::string Message(const absl::Status& status) {
  return std::string(status.message());
}

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A fresh folder for each test.
class FileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = absl::StrCat(
        testing::TempDir(), "/",
        testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }
  std::string Path(const std::string& name) const {
    return absl::StrCat(folder_, "/", name);
  }
  // The names of all that is in the folder, hidden files too.
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  std::string folder_;
};

mode_t Mode(const std::string& path) {
  struct stat status;
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status.st_mode & 07777;
}

TEST_F(FileTest, WritesAndReadsBytes) {
  const std::string bytes("a\0b\n\xff", 5);
  ASSERT_TRUE(WriteFileAtomically(Path("f"), bytes).ok());
  EXPECT_EQ(*ReadFile(Path("f")), bytes);
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "").ok());
  EXPECT_EQ(*ReadFile(Path("f")), "");
  EXPECT_THAT(Names(), ElementsAre("f"));
}

TEST_F(FileTest, WritesPiecesInOrder) {
  const std::vector<absl::string_view> pieces = {"one ", "", "two ", "three"};
  ASSERT_TRUE(WriteFileAtomically(Path("f"), pieces).ok());
  EXPECT_EQ(*ReadFile(Path("f")), "one two three");
}

TEST_F(FileTest, ReadsLargeFiles) {
  std::string bytes(5'000'001, 'x');
  bytes.front() = 'a';
  bytes.back() = 'z';
  ASSERT_TRUE(WriteFileAtomically(Path("f"), bytes).ok());
  EXPECT_TRUE(*ReadFile(Path("f")) == bytes);
}

TEST_F(FileTest, ReadsPipes) {
  const std::string bytes(300'000, 'p');
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  std::thread writer([this, &bytes] {
    EXPECT_TRUE(WriteFileAtomically(Path("pipe"), bytes).ok());
  });
  EXPECT_TRUE(*ReadFile(Path("pipe")) == bytes);
  writer.join();
  EXPECT_THAT(Names(), ElementsAre("pipe"));  // written to, not replaced
}

// A signal that interrupts reading does not end it.
TEST_F(FileTest, ReadsOnAfterAnInterruption) {
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  struct sigaction action = {};
  static std::atomic<int> interruptions;
  interruptions = 0;
  action.sa_handler = [](int) { ++interruptions; };  // and no SA_RESTART
  struct sigaction old;
  ASSERT_EQ(sigaction(SIGUSR1, &action, &old), 0);
  const pthread_t reader = pthread_self();
  std::thread writer([this, reader] {
    const int pipe = ::open(Path("pipe").c_str(), O_WRONLY);
    EXPECT_EQ(::write(pipe, "ab", 2), 2);
    // While the reader waits for the rest.
    for (int n = 0; n < 20; ++n) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      pthread_kill(reader, SIGUSR1);
    }
    EXPECT_EQ(::write(pipe, "cd", 2), 2);
    ::close(pipe);
  });
  EXPECT_EQ(*ReadFile(Path("pipe")), "abcd");
  writer.join();
  EXPECT_GT(interruptions, 0);
  sigaction(SIGUSR1, &old, nullptr);
}

TEST_F(FileTest, DoesNotReadForever) {
  const absl::Status status = ReadFile("/dev/zero").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Message(status),
            "/dev/zero: no regular file, and more than 268435456 bytes come "
            "from it");
}

TEST_F(FileTest, RefusesToReadMoreThanMemoryHolds) {
  // A file of 2^62 bytes, none of them on the disk; some file systems hold no
  // such file.
  const int file = ::open(Path("huge").c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_GE(file, 0);
  off_t size = off_t{1} << 62;
  while (size > 0 && ::ftruncate(file, size) != 0) size /= 2;
  ::close(file);
  if (size < off_t{1} << 43) GTEST_SKIP() << "largest file: " << size;
  const absl::Status status = ReadFile(Path("huge")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(
      status.message(),
      absl::StrCat("huge: reading it needs ", size, " bytes of memory")))
      << status;
}

TEST_F(FileTest, ReadErrorsNameThePath) {
  const absl::Status missing = ReadFile(Path("none")).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(
      missing.message(),
      absl::StrCat(Path("none"), ": cannot open: No such file or directory"));
  const absl::Status directory = ReadFile(folder_).status();
  EXPECT_EQ(directory.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Message(directory),
            absl::StrCat(folder_, ": cannot read: Is a directory"));
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "x").ok());
  EXPECT_EQ(ReadFile(Path("f/g")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReadFile(Path(std::string(300, 'n'))).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(FileTest, NewFilesFollowTheMask) {
  const mode_t before = ::umask(027);
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "x").ok());
  ::umask(before);
  EXPECT_EQ(Mode(Path("f")), 0640u);
}

TEST_F(FileTest, ReplacedFilesKeepTheirMode) {
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "x").ok());
  ASSERT_EQ(::chmod(Path("f").c_str(), 0604), 0);
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "y").ok());
  EXPECT_EQ(Mode(Path("f")), 0604u);
  EXPECT_EQ(*ReadFile(Path("f")), "y");
}

TEST_F(FileTest, ReadersNeverSeeAPart) {
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "old").ok());
  const int reader = ::open(Path("f").c_str(), O_RDONLY);
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "new content").ok());
  char buffer[16];
  EXPECT_EQ(::read(reader, buffer, sizeof(buffer)), 3);  // the old file, whole
  ::close(reader);
}

TEST_F(FileTest, KeepsSymbolicLinks) {
  ASSERT_TRUE(WriteFileAtomically(Path("target"), "old").ok());
  std::filesystem::create_symlink("target", Path("link"));
  ASSERT_TRUE(WriteFileAtomically(Path("link"), "new").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(Path("link")));
  EXPECT_EQ(*ReadFile(Path("target")), "new");
  EXPECT_THAT(Names(), ElementsAre("link", "target"));
}

TEST_F(FileTest, TakesTheLongestNames) {
  const std::string name(255, 'n');
  ASSERT_TRUE(WriteFileAtomically(Path(name), "x").ok());
  EXPECT_EQ(*ReadFile(Path(name)), "x");
}

TEST_F(FileTest, StepsAsideForALeftover) {
  const std::string leftover =
      absl::StrCat(".softlookup.", ::getpid(), ".0.tmp");
  ASSERT_TRUE(WriteFileAtomically(Path(leftover), "theirs").ok());
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "x").ok());
  EXPECT_EQ(*ReadFile(Path("f")), "x");
  EXPECT_EQ(*ReadFile(Path(leftover)), "theirs");
}

TEST_F(FileTest, WriteErrorsNameThePathAndLeaveNothing) {
  const absl::Status missing = WriteFileAtomically(Path("no/f"), "x");
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(
      missing.message(),
      absl::StrCat(Path("no/f"), ": cannot write: No such file or directory"));
  const absl::Status directory = WriteFileAtomically(folder_, "x");
  EXPECT_EQ(directory.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Message(directory),
            absl::StrCat(folder_, ": cannot write: Is a directory"));
  EXPECT_EQ(WriteFileAtomically("", "x").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(WriteFileAtomically("/proc/softlookup", "x").code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(WriteFileAtomically(Path(std::string(256, 'n')), "x").code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Names(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(
      absl::StrCat(".softlookup.", ::getpid(), ".0.tmp")));
}

TEST_F(FileTest, FullDevice) {
  const absl::Status status = WriteFileAtomically("/dev/full", "x");
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Message(status),
            "/dev/full: cannot write: No space left on device");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST_F(FileTest, LeavesNoDescriptorOpen) {
  const auto open_descriptors = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  const auto before = open_descriptors();
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "x").ok());
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "y").ok());
  ASSERT_TRUE(WriteFileAtomically("/dev/null", "x").ok());
  ASSERT_FALSE(WriteFileAtomically("/dev/full", "x").ok());
  ASSERT_TRUE(ReadFile(Path("f")).ok());
  ASSERT_FALSE(ReadFile(folder_).ok());
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(FileTest, NullDevice) {
  EXPECT_TRUE(WriteFileAtomically("/dev/null", "x").ok());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

// A limit on file sizes is the full disk that a test can have.
TEST_F(FileTest, FullDiskLeavesTheOldFile) {
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "old").ok());
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit tiny = {1000, before.rlim_max};
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tiny), 0);
  const absl::Status status =
      WriteFileAtomically(Path("f"), std::string(1001, 'x'));
  const absl::Status fits =
      WriteFileAtomically(Path("g"), std::string(1000, 'x'));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, handler);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Message(status),
            absl::StrCat(Path("f"), ": cannot write: File too large"));
  EXPECT_TRUE(fits.ok()) << fits;
  EXPECT_EQ(*ReadFile(Path("f")), "old");
  EXPECT_THAT(Names(), ElementsAre("f", "g"));
}

// Root may open any file, by a capability that these tests give up meanwhile.
class UnprivilegedFileTest : public FileTest {
 protected:
  void SetUp() override {
    FileTest::SetUp();
    ASSERT_EQ(::syscall(SYS_capget, &header_, before_), 0);
    __user_cap_data_struct without[2] = {before_[0], before_[1]};
    without[0].effective &=
        ~(1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH);
    ASSERT_EQ(::syscall(SYS_capset, &header_, without), 0);
  }
  void TearDown() override {
    ASSERT_EQ(::syscall(SYS_capset, &header_, before_), 0);
  }

 private:
  __user_cap_header_struct header_ = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct before_[2] = {};
};

TEST_F(UnprivilegedFileTest, DoesNotReplaceWhatMayNotBeWritten) {
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "old").ok());
  ASSERT_EQ(::chmod(Path("f").c_str(), 0444), 0);
  const absl::Status status = WriteFileAtomically(Path("f"), "new");
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(Message(status),
            absl::StrCat(Path("f"), ": cannot write: Permission denied"));
  EXPECT_EQ(*ReadFile(Path("f")), "old");
}

TEST_F(UnprivilegedFileTest, ForbiddenFolderAndFile) {
  ASSERT_TRUE(WriteFileAtomically(Path("secret"), "x").ok());
  ASSERT_EQ(::chmod(Path("secret").c_str(), 0), 0);
  EXPECT_EQ(ReadFile(Path("secret")).status().code(),
            absl::StatusCode::kPermissionDenied);
  ASSERT_TRUE(MakeDirectories(Path("closed")).ok());
  ASSERT_EQ(::chmod(Path("closed").c_str(), 0555), 0);
  EXPECT_EQ(WriteFileAtomically(Path("closed/f"), "x").code(),
            absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(MakeDirectories(Path("closed/g")).code(),
            absl::StatusCode::kPermissionDenied);
}

TEST_F(FileTest, MakeDirectoriesMakesParents) {
  EXPECT_TRUE(MakeDirectories(Path("a/b/c")).ok());
  EXPECT_TRUE(std::filesystem::is_directory(Path("a/b/c")));
  EXPECT_TRUE(MakeDirectories(Path("a/b/c")).ok());
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "x").ok());
  const absl::Status status = MakeDirectories(Path("f/g"));
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(
      status.message(),
      absl::StrCat(Path("f/g"), ": cannot create directory: Not a directory"));
}

TEST(ResolveUserPathTest, RelativeToTheCaller) {
  ::unsetenv("BUILD_WORKING_DIRECTORY");
  EXPECT_EQ(ResolveUserPath("a/b"), "a/b");
  ::setenv("BUILD_WORKING_DIRECTORY", "/home/user", 1);
  EXPECT_EQ(ResolveUserPath("a/b"), "/home/user/a/b");
  EXPECT_EQ(ResolveUserPath("/a/b"), "/a/b");
  EXPECT_EQ(ResolveUserPath(""), "");
  ::unsetenv("BUILD_WORKING_DIRECTORY");
}

TEST(CheckWritable, SaysWhatWritingWouldSay) {
  const std::string folder = ::testing::TempDir();
  const std::string path = absl::StrCat(folder, "/check_writable");
  const auto entries = [&] {
    return std::distance(std::filesystem::directory_iterator(folder),
                         std::filesystem::directory_iterator());
  };
  const auto before = entries();
  EXPECT_TRUE(CheckWritable(path).ok());
  EXPECT_EQ(entries(), before);
  ASSERT_TRUE(WriteFileAtomically(path, "old").ok());
  EXPECT_TRUE(CheckWritable(path).ok());
  EXPECT_EQ(*ReadFile(path), "old");
  for (const std::string& bad : {folder, folder + "/no/such"}) {
    EXPECT_EQ(CheckWritable(bad).message(),
              WriteFileAtomically(bad, "x").message());
    EXPECT_FALSE(CheckWritable(bad).ok());
  }
  EXPECT_TRUE(CheckWritable("/dev/null").ok());
}

TEST(IsSameFile, FollowsLinks) {
  const std::string folder = ::testing::TempDir();
  const std::string a = absl::StrCat(folder, "/same_a");
  const std::string b = absl::StrCat(folder, "/same_b");
  const std::string link = absl::StrCat(folder, "/same_link");
  ASSERT_TRUE(WriteFileAtomically(a, "x").ok());
  ASSERT_TRUE(WriteFileAtomically(b, "x").ok());
  std::filesystem::create_symlink(a, link);
  EXPECT_TRUE(IsSameFile(a, a));
  EXPECT_TRUE(IsSameFile(a, link));
  EXPECT_FALSE(IsSameFile(a, b));
  EXPECT_FALSE(IsSameFile(a, folder + "/no_such"));
  EXPECT_FALSE(IsSameFile("/dev/null", "/dev/null"));
}

}  // namespace
}  // namespace softlookup
