// PyTorch in another process, asked for the time of its cuDNN attention.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(
//       std::unique_ptr<PytorchPeer> peer,
//       PytorchPeer::Start({.python = "python3",
//                           .script =
//                           "attention/cudnn/pytorch_attention.py"}));
//   SOFTLOOKUP_ASSIGN_OR_RETURN(const Json versions, peer->Versions());
//   Json request;
//   request["request"] = "product";
//   request["size"] = 8192;
//   request["calls"] = 5;
//   SOFTLOOKUP_ASSIGN_OR_RETURN(double seconds, peer->Ask(request, 20));
//
// The process reads a request of one line of JSON and writes a reply of one,
// {"seconds": 0.001} or {"error": "why not"}; its first reply, unasked, has the
// versions. Whatever it does, this process goes on: it may be missing, print
// anything, say nothing, or end.
#ifndef SOFTLOOKUP_ATTENTION_CUDNN_PYTORCH_PEER_H_
#define SOFTLOOKUP_ATTENTION_CUDNN_PYTORCH_PEER_H_

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/json.h"

namespace softlookup::cudnn {

struct PytorchPeerOptions {
  std::string python = "python3";  // a path, or a name that PATH knows
  std::string script;
  // The process's LD_LIBRARY_PATH, if it is not to be this one's.
  std::optional<std::string> library_path = std::nullopt;
  // The first reply comes this long after the start at the latest: PyTorch
  // takes many seconds to import from a cold disk.
  double start_seconds = 60;
};

class PytorchPeer {
 public:
  // Starts the process and does not wait for it. FailedPrecondition if it
  // cannot be started.
  static absl::StatusOr<std::unique_ptr<PytorchPeer>> Start(
      const PytorchPeerOptions& options);
  // Ends the process, by force if need be, within seconds.
  ~PytorchPeer();
  PytorchPeer(const PytorchPeer&) = delete;
  PytorchPeer& operator=(const PytorchPeer&) = delete;

  // The first reply, waited for once. Unavailable, now and for every request
  // from then on, if the process has no PyTorch that can be compared with, or
  // is gone.
  absl::StatusOr<Json> Versions();

  // Seconds per call. Unimplemented, with its reason, for what PyTorch does not
  // compute. Unavailable once the process is gone: it ended, did not reply in
  // time, or what it said was no reply; it is ended then.
  absl::StatusOr<double> Ask(const Json& request, double seconds);

 private:
  PytorchPeer() = default;

  absl::StatusOr<std::string> ReadLine(double deadline);
  absl::StatusOr<Json> ReadReply(double deadline);
  // Notes what it writes to standard error; it must not block there.
  void ReadErrors();
  // Ends the process and gives this reason from now on.
  absl::Status GiveUp(const std::string& reason);
  // Whether the process has ended within these seconds; takes note how.
  bool WaitForEnd(double seconds);
  void End();
  // "ended with exit code 1: last line of standard error".
  std::string HowItEnded() const;

  pid_t process_ = -1;  // -1 once it is waited for
  int wait_status_ = 0;
  int socket_ = -1;  // its standard input and output
  int errors_ = -1;  // its standard error
  double start_deadline_ = 0;
  std::string received_;    // of replies, up to now
  std::string last_words_;  // of standard error
  std::optional<absl::StatusOr<Json>> versions_;
  absl::Status gone_;
};

}  // namespace softlookup::cudnn

#endif  // SOFTLOOKUP_ATTENTION_CUDNN_PYTORCH_PEER_H_
