#include "base/progress.h"

#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>

#include "gtest/gtest.h"

namespace softlookup {
namespace {

// Whether the system has pseudo-terminals: not in a bare container or chroot.
bool HasTerminals() {
  int terminal;
  int other;
  if (::openpty(&terminal, &other, nullptr, nullptr, nullptr) != 0) {
    return false;
  }
  ::close(terminal);
  ::close(other);
  return true;
}

// What `work` writes to stderr in a child process whose stderr is a terminal.
std::string OnATerminal(const std::function<void()>& work) {
  int terminal = -1;
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child == 0) {
    work();
    std::fflush(stderr);
    ::_exit(0);
  }
  std::string output;
  char buffer[256];
  // The end of the child shows as an error on Linux.
  for (ssize_t got; (got = ::read(terminal, buffer, sizeof(buffer))) > 0;) {
    output.append(buffer, got);
  }
  ::close(terminal);
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  return output;
}

void Sleep(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

TEST(Progress, ShowsALineAfterTwoSecondsAndClearsIt) {
  if (!HasTerminals()) GTEST_SKIP() << "no pseudo-terminal here";
  const std::string output = OnATerminal([] {
    Progress progress("draw", 5000);
    progress.Update(1);  // too early to bother anybody
    Sleep(2.2);
    progress.Update(0);  // no rate yet
    progress.Update(1200, "loss 1.23");
    progress.Update(1300);  // under a tenth of a second after the last
    Sleep(0.11);
    progress.Update(2500);
  });
  int done = 0;
  double rate = 0;
  double left = 0;
  int length = 0;
  ASSERT_EQ(std::sscanf(output.c_str(),
                        "\r\033[Kdraw %d/5000, loss 1.23, %lf/s, %lf s left%n",
                        &done, &rate, &left, &length),
            3)
      << output;
  EXPECT_EQ(done, 1200);
  // In at least 2.2 s (and not far more, unless the machine is very busy).
  EXPECT_LT(rate, 1200 / 2.2 + 1);
  EXPECT_GT(rate, 1200 / 60.0);
  // To the rounding of three digits, and of whole seconds.
  EXPECT_NEAR(left, 3800 / rate, 0.5 + 0.01 * left);

  const std::string rest = output.substr(length);
  ASSERT_EQ(
      std::sscanf(rest.c_str(), "\r\033[Kdraw %d/5000, %lf/s, %lf s left%n",
                  &done, &rate, &left, &length),
      3)
      << rest;
  EXPECT_EQ(done, 2500);
  EXPECT_NEAR(left, 2500 / rate, 0.5 + 0.01 * left);
  EXPECT_EQ(rest.substr(length), "\r\033[K");
}

TEST(Progress, ShortWorkShowsNothing) {
  if (!HasTerminals()) GTEST_SKIP() << "no pseudo-terminal here";
  EXPECT_EQ(OnATerminal([] {
              Progress progress("draw", 2);
              progress.Update(1);
              progress.Update(2);
            }),
            "");
}

TEST(Progress, NothingWithoutATerminal) {
  testing::internal::CaptureStderr();
  {
    Progress progress("draw", 5000);
    Sleep(2.2);
    progress.Update(1200);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace softlookup
