// Small programs in PyTorch's place, each of which fails in its own way.
#include "attention/cudnn/pytorch_peer.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/json.h"
#include "base/timing.h"
#include "gtest/gtest.h"

namespace softlookup::cudnn {
namespace {

constexpr const char* kPython = "/usr/bin/python3";
// How a program says that it is there, and reads requests.
constexpr const char* kHello = R"(
import json, os, signal, sys, time
def say(text):
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
say('{"torch": "2.9", "cudnn": "9.15.1"}')
)";

class PytorchPeerTest : public testing::Test {
 protected:
  // No program may end a test by a signal or outlive it.
  void TearDown() override {
    peer_.reset();
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
  }

  void StartProgram(const std::string& text, double start_seconds = 20) {
    const std::string path = testing::TempDir() + "/peer.py";
    ASSERT_TRUE(WriteFileAtomically(path, text).ok());
    auto peer = PytorchPeer::Start(
        {.python = kPython, .script = path, .start_seconds = start_seconds});
    ASSERT_TRUE(peer.ok()) << peer.status();
    peer_ = *std::move(peer);
  }

  absl::StatusOr<double> Ask(double seconds = 20) {
    Json request;
    request["request"] = "product";
    request["size"] = 8192;
    return peer_->Ask(request, seconds);
  }

  // The reason, which must be given again for the next request, at once.
  std::string Gone(double seconds = 20) {
    const absl::Status status = Ask(seconds).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    const double start = SecondsNow();
    EXPECT_EQ(Ask().status(), status);
    EXPECT_LT(SecondsNow() - start, 1);
    return std::string(status.message());
  }

  std::unique_ptr<PytorchPeer> peer_;
};

TEST_F(PytorchPeerTest, AsksAndIsAnswered) {
  StartProgram(absl::StrCat(kHello, R"(
for line in sys.stdin:
    request = json.loads(line)
    say(json.dumps({"seconds": request["size"] / 2}))
)"));
  const auto versions = peer_->Versions();
  ASSERT_TRUE(versions.ok()) << versions.status();
  EXPECT_EQ((*versions)["torch"], "2.9");
  EXPECT_EQ((*versions)["cudnn"], "9.15.1");
  for (int again = 0; again < 3; ++again) {
    const auto seconds = Ask();
    ASSERT_TRUE(seconds.ok()) << seconds.status();
    EXPECT_EQ(*seconds, 4096);
  }
}

TEST_F(PytorchPeerTest, WhatIsNotSupportedIsNoEnd) {
  StartProgram(absl::StrCat(kHello, R"(
sys.stdin.readline()
say('{"error": "No available kernel.\\nAborting"}')
sys.stdin.readline()
say('{"seconds": 0.25}')
)"));
  EXPECT_EQ(Ask().status(),
            absl::UnimplementedError("No available kernel. Aborting"));
  const auto seconds = Ask();
  ASSERT_TRUE(seconds.ok()) << seconds.status();
  EXPECT_EQ(*seconds, 0.25);
}

TEST_F(PytorchPeerTest, NoPython) {
  const auto peer =
      PytorchPeer::Start({.python = "/no/python3", .script = "none.py"});
  EXPECT_EQ(peer.status(),
            absl::FailedPreconditionError(
                "/no/python3 cannot be started: No such file or directory"));
}

TEST_F(PytorchPeerTest, NoPyTorch) {
  StartProgram(R"(
print('{"error": "no PyTorch: No module named \'torch\'"}', flush=True)
)");
  EXPECT_EQ(Gone(), "no PyTorch: No module named 'torch'");
  EXPECT_EQ(peer_->Versions().status().message(),
            "no PyTorch: No module named 'torch'");
}

TEST_F(PytorchPeerTest, EndsBeforeItsFirstReply) {
  StartProgram(R"(raise SystemExit("the disk is full"))");
  EXPECT_EQ(Gone(), "its process ended with exit code 1: the disk is full");
}

TEST_F(PytorchPeerTest, EndsInsteadOfAReply) {
  StartProgram(absl::StrCat(kHello, R"(
sys.stdin.readline()
sys.stderr.write("first line\nCUDA error: out of memory\n")
sys.exit(7)
)"));
  EXPECT_EQ(Gone(),
            "its process ended with exit code 7: CUDA error: out of memory");
}

TEST_F(PytorchPeerTest, IsKilledInsteadOfAReply) {
  StartProgram(absl::StrCat(kHello, R"(
sys.stdin.readline()
os.kill(os.getpid(), signal.SIGSEGV)
)"));
  EXPECT_EQ(Gone(), "its process was ended by signal 11");
}

// What is written to a process that has ended must be an error, not SIGPIPE.
TEST_F(PytorchPeerTest, EndsBeforeARequest) {
  StartProgram(kHello);
  ASSERT_TRUE(peer_->Versions().ok());
  const double start = SecondsNow();
  siginfo_t ended;
  // Until it has ended, without taking note.
  while (::waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT) != 0 &&
         SecondsNow() - start < 20) {
  }
  EXPECT_EQ(Gone(), "its process ended with exit code 0");
}

TEST_F(PytorchPeerTest, SaysNothing) {
  StartProgram(absl::StrCat(kHello, "time.sleep(1000)\n"));
  ASSERT_TRUE(peer_->Versions().ok());
  const double start = SecondsNow();
  EXPECT_EQ(Gone(/*seconds=*/0.3), "its process did not reply in time");
  EXPECT_LT(SecondsNow() - start, 5);
}

TEST_F(PytorchPeerTest, SaysNothingFromTheStart) {
  StartProgram("import time\ntime.sleep(1000)\n", /*start_seconds=*/0.3);
  EXPECT_EQ(Gone(), "its process did not reply in time");
}

// A process that heeds no signal but the last and does not end with its input.
TEST_F(PytorchPeerTest, WillNotEnd) {
  StartProgram(absl::StrCat(kHello, R"(
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
while True:
    time.sleep(1000)
)"));
  ASSERT_TRUE(peer_->Versions().ok());
  const double start = SecondsNow();
  peer_.reset();
  EXPECT_LT(SecondsNow() - start, 8);
}

TEST_F(PytorchPeerTest, SaysWhatIsNoReply) {
  for (const char* text :
       {"Segmentation fault", "[0.25]", "{\\\"seconds\\\": \\\"fast\\\"}",
        "{\\\"seconds\\\": -1}", "{}"}) {
    StartProgram(absl::StrCat(kHello, "sys.stdin.readline()\nsay(\"", text,
                              "\")\ntime.sleep(1000)\n"));
    EXPECT_NE(Gone().find(", which is no reply"), std::string::npos);
  }
}

TEST_F(PytorchPeerTest, WritesWithoutEnd) {
  StartProgram(absl::StrCat(kHello, R"(
sys.stdin.readline()
while True:
    sys.stdout.write("x" * 4096)
)"));
  EXPECT_EQ(Gone(), "its process wrote something that is no reply");
}

// Nobody reads its standard error while nothing is asked.
TEST_F(PytorchPeerTest, FloodsStandardError) {
  StartProgram(absl::StrCat(kHello, R"(
for line in sys.stdin:
    sys.stderr.write("warning\n" * 200000)
    say('{"seconds": 0.25}')
    sys.stderr.write("warning\n" * 200000)
)"));
  for (int again = 0; again < 3; ++again) {
    const auto seconds = Ask();
    ASSERT_TRUE(seconds.ok()) << seconds.status();
    EXPECT_EQ(*seconds, 0.25);
  }
}

TEST_F(PytorchPeerTest, FloodsStandardErrorForEver) {
  StartProgram(absl::StrCat(kHello, R"(
while True:
    sys.stderr.write("warning\n" * 1000)
)"));
  EXPECT_EQ(Gone(/*seconds=*/1), "its process did not reply in time");
}

TEST_F(PytorchPeerTest, ClosesItsOutput) {
  StartProgram(absl::StrCat(kHello, R"(
sys.stdin.readline()
os.close(0)
os.close(1)
time.sleep(1000)
)"));
  EXPECT_EQ(Gone(), "its process closed its output");
}

TEST_F(PytorchPeerTest, ReadsNoRequest) {
  StartProgram(absl::StrCat(kHello, R"(
import socket
socket.socket(fileno=0).shutdown(socket.SHUT_RD)
time.sleep(1000)
)"));
  ASSERT_TRUE(peer_->Versions().ok());
  const std::string reason = Gone(/*seconds=*/1);
  EXPECT_TRUE(reason == "its process takes no request" ||
              reason == "its process did not reply in time")
      << reason;
}

TEST_F(PytorchPeerTest, LibraryPathIsTheCallers) {
  const std::string path = testing::TempDir() + "/peer.py";
  ASSERT_TRUE(WriteFileAtomically(path, R"(
import json, os
print(json.dumps({"path": os.environ.get("LD_LIBRARY_PATH")}), flush=True)
)")
                  .ok());
  ::setenv("LD_LIBRARY_PATH", "/packed", 1);
  const auto seen = [&](std::optional<std::string> library_path) {
    auto peer = PytorchPeer::Start({.python = kPython,
                                    .script = path,
                                    .library_path = std::move(library_path)});
    EXPECT_TRUE(peer.ok()) << peer.status();
    const auto reply = (*peer)->Versions();
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply.ok() ? (*reply)["path"] : Json();
  };
  EXPECT_EQ(seen(std::nullopt), "/packed");
  EXPECT_EQ(seen("/theirs"), "/theirs");
  EXPECT_EQ(seen(""), nullptr);
  ::unsetenv("LD_LIBRARY_PATH");
}

}  // namespace
}  // namespace softlookup::cudnn
