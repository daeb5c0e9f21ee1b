#include "base/memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

TEST(MemoryTest, IsAtMostTheMachines) {
  const int64_t physical =
      static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  EXPECT_LE(UsableMemory(), physical);
  // Less than this could not run the test.
  EXPECT_GT(UsableMemory(), int64_t{1} << 20);
}

TEST(MemoryTest, HeedsTheAddressSpaceLimit) {
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  rlimit lower = before;
  lower.rlim_cur = 300'000'000;
  // Sanitizers hold more address space than this; what they hold stays.
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &lower), 0);
  const int64_t usable = UsableMemory();
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_EQ(usable, 300'000'000);
}

TEST(ControlGroupLimitTest, ReadsBothVersions) {
  constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
  const std::string folder = absl::StrCat(testing::TempDir(), "/cgroup");
  std::filesystem::create_directories(folder + "/memory");
  const std::string first = folder + "/memory/memory.limit_in_bytes";
  const std::string second = folder + "/memory.max";
  EXPECT_EQ(ControlGroupLimit(folder), kNoLimit);
  std::ofstream(second) << "max\n";
  EXPECT_EQ(ControlGroupLimit(folder), kNoLimit);
  std::ofstream(second) << "5000000\n";
  EXPECT_EQ(ControlGroupLimit(folder), 5000000);
  std::ofstream(first) << "4000000\n";
  EXPECT_EQ(ControlGroupLimit(folder), 4000000);
  std::ofstream(first) << "9223372036854771712\n";
  EXPECT_EQ(ControlGroupLimit(folder), 5000000);
}

TEST(CheckMemoryTest, BothSidesOfTheLimit) {
  const int64_t usable = UsableMemory();
  EXPECT_TRUE(CheckMemory("this", 0).ok());
  EXPECT_TRUE(CheckMemory("this", usable).ok());
  const absl::Status status = CheckMemory("this", usable + 1);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            absl::StrCat("this needs ", usable + 1,
                         " bytes of memory; usable here: ", usable));
  EXPECT_FALSE(CheckMemory("this", std::numeric_limits<int64_t>::max()).ok());
}

}  // namespace
}  // namespace softlookup
