#include "attention/cudnn/pytorch_peer.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/printable.h"
#include "base/status.h"
#include "base/timing.h"

extern char** environ;

namespace softlookup::cudnn {
namespace {

// A reply is a short line; what is longer is none.
constexpr size_t kLongestReply = 1 << 16;
constexpr size_t kLastWords = 300;
// How long the process has to end once it is told to, or has closed its output.
constexpr double kEndSeconds = 2;

absl::Status SystemError(absl::string_view what, int error) {
  return absl::FailedPreconditionError(
      absl::StrCat(what, ": ", std::strerror(error)));
}

// This process's environment, with another LD_LIBRARY_PATH if one is given.
std::vector<std::string> Environment(
    const std::optional<std::string>& library_path) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (library_path.has_value() &&
        absl::StartsWith(*variable, "LD_LIBRARY_PATH=")) {
      continue;
    }
    variables.push_back(*variable);
  }
  if (library_path.has_value() && !library_path->empty()) {
    variables.push_back(absl::StrCat("LD_LIBRARY_PATH=", *library_path));
  }
  return variables;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

void Close(int& file) {
  if (file >= 0) ::close(file);
  file = -1;
}

}  // namespace

absl::StatusOr<std::unique_ptr<PytorchPeer>> PytorchPeer::Start(
    const PytorchPeerOptions& options) {
  std::unique_ptr<PytorchPeer> peer(new PytorchPeer());
  // A socket rather than two pipes: writing to a process that has ended is an
  // error then and no signal.
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
    return SystemError("socketpair", errno);
  }
  peer->socket_ = sockets[0];
  int pipes[2];
  if (::pipe2(pipes, O_CLOEXEC) != 0) {
    const int error = errno;
    ::close(sockets[1]);
    return SystemError("pipe", error);
  }
  peer->errors_ = pipes[0];
  ::fcntl(peer->errors_, F_SETFL, O_NONBLOCK);

  std::vector<std::string> arguments = {options.python, options.script};
  std::vector<std::string> environment = Environment(options.library_path);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, sockets[1], 0);
  ::posix_spawn_file_actions_adddup2(&actions, sockets[1], 1);
  ::posix_spawn_file_actions_adddup2(&actions, pipes[1], 2);
  const int error =
      ::posix_spawnp(&peer->process_, options.python.c_str(), &actions, nullptr,
                     Pointers(arguments).data(), Pointers(environment).data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(sockets[1]);
  ::close(pipes[1]);
  if (error != 0) {
    peer->process_ = -1;
    return SystemError(absl::StrCat(options.python, " cannot be started"),
                       error);
  }
  peer->start_deadline_ = SecondsNow() + options.start_seconds;
  return peer;
}

PytorchPeer::~PytorchPeer() { End(); }

void PytorchPeer::End() {
  // Its input ends here, and with that a process in good order.
  Close(socket_);
  if (!WaitForEnd(gone_.ok() ? kEndSeconds : 0)) {
    ::kill(process_, SIGKILL);
    // A process inside the driver may take its time; this one goes on.
    WaitForEnd(kEndSeconds);
  }
  Close(errors_);
}

bool PytorchPeer::WaitForEnd(double seconds) {
  const double deadline = SecondsNow() + seconds;
  while (process_ >= 0) {
    const pid_t ended = ::waitpid(process_, &wait_status_, WNOHANG);
    if (ended == process_ || (ended < 0 && errno != EINTR)) {
      process_ = -1;
      break;
    }
    if (SecondsNow() >= deadline) return false;
    ReadErrors();
    const timespec pause = {.tv_sec = 0, .tv_nsec = 2'000'000};
    ::nanosleep(&pause, nullptr);
  }
  ReadErrors();
  return true;
}

void PytorchPeer::ReadErrors() {
  if (errors_ < 0) return;
  char buffer[4096];
  // Not more than the pipe holds: someone who never stops is not waited for.
  for (int part = 0; part < 32; ++part) {
    const ssize_t bytes = ::read(errors_, buffer, sizeof(buffer));
    if (bytes == 0) Close(errors_);
    if (bytes <= 0) return;
    last_words_.append(buffer, bytes);
    if (last_words_.size() > kLastWords) {
      last_words_.erase(0, last_words_.size() - kLastWords);
    }
  }
}

std::string PytorchPeer::HowItEnded() const {
  std::string how =
      WIFSIGNALED(wait_status_)
          ? absl::StrCat("was ended by signal ", WTERMSIG(wait_status_))
          : absl::StrCat("ended with exit code ", WEXITSTATUS(wait_status_));
  absl::string_view words = absl::StripAsciiWhitespace(last_words_);
  words = words.substr(words.rfind('\n') + 1);
  if (!words.empty()) absl::StrAppend(&how, ": ", words);
  return how;
}

absl::Status PytorchPeer::GiveUp(const std::string& reason) {
  gone_ = absl::UnavailableError(Printable(reason));
  End();
  return gone_;
}

absl::StatusOr<std::string> PytorchPeer::ReadLine(double deadline) {
  while (true) {
    const size_t end = received_.find('\n');
    if (end != std::string::npos) {
      std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return line;
    }
    if (received_.size() > kLongestReply) {
      return GiveUp("its process wrote something that is no reply");
    }
    const double left = deadline - SecondsNow();
    if (left <= 0) return GiveUp("its process did not reply in time");
    pollfd files[2] = {{socket_, POLLIN, 0}, {errors_, POLLIN, 0}};
    const int ready = ::poll(
        files, 2, static_cast<int>(std::ceil(std::min(left, 1.0) * 1e3)));
    if (ready <= 0) continue;
    ReadErrors();
    if (files[0].revents == 0) continue;
    char buffer[4096];
    const ssize_t bytes = ::read(socket_, buffer, sizeof(buffer));
    if (bytes > 0) {
      received_.append(buffer, bytes);
    } else if (bytes == 0 || errno != EINTR) {
      if (!WaitForEnd(kEndSeconds)) {
        return GiveUp("its process closed its output");
      }
      return GiveUp(absl::StrCat("its process ", HowItEnded()));
    }
  }
}

absl::StatusOr<Json> PytorchPeer::ReadReply(double deadline) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const std::string line, ReadLine(deadline));
  const absl::StatusOr<Json> reply = ParseJson(line, "reply");
  if (!reply.ok() || !reply->is_object()) {
    return GiveUp(absl::StrCat("its process wrote \"", line.substr(0, 60),
                               "\", which is no reply"));
  }
  return *reply;
}

absl::StatusOr<Json> PytorchPeer::Versions() {
  if (!versions_.has_value()) {
    versions_ = ReadReply(start_deadline_);
    if (versions_->ok() && (*versions_)->contains("error")) {
      const Json& error = (**versions_)["error"];
      versions_ =
          GiveUp(error.is_string() ? error.get<std::string>() : error.dump());
    }
  }
  return *versions_;
}

absl::StatusOr<double> PytorchPeer::Ask(const Json& request, double seconds) {
  SOFTLOOKUP_RETURN_IF_ERROR(Versions().status());
  SOFTLOOKUP_RETURN_IF_ERROR(gone_);
  const std::string line = absl::StrCat(request.dump(), "\n");
  // A line fits into an empty socket, and a reply was read for every request:
  // what does not fit at once is not read on the other side.
  const ssize_t sent =
      ::send(socket_, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent != static_cast<ssize_t>(line.size())) {
    return GiveUp(WaitForEnd(kEndSeconds)
                      ? absl::StrCat("its process ", HowItEnded())
                      : "its process takes no request");
  }
  SOFTLOOKUP_ASSIGN_OR_RETURN(const Json reply,
                              ReadReply(SecondsNow() + seconds));
  if (reply.contains("error") && reply["error"].is_string()) {
    return absl::UnimplementedError(
        Printable(reply["error"].get<std::string>()));
  }
  if (!reply.contains("seconds") || !reply["seconds"].is_number() ||
      !(reply["seconds"].get<double>() > 0)) {
    return GiveUp(absl::StrCat("its process wrote \"",
                               reply.dump().substr(0, 60),
                               "\", which is no reply"));
  }
  return reply["seconds"].get<double>();
}

}  // namespace softlookup::cudnn
