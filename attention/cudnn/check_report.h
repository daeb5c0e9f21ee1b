// What gpu_check found: numbers as JSON, and the checks that failed.
//
//   CheckReport report("gpu_check.json");
//   report.json()["device"] = "NVIDIA H200";
//   report.Check(error <= bound, "case 3: output [0, 1]: 0.25 for 0.5");
//   SOFTLOOKUP_RETURN_IF_ERROR(report.Write());   // after every stage
#ifndef SOFTLOOKUP_ATTENTION_CUDNN_CHECK_REPORT_H_
#define SOFTLOOKUP_ATTENTION_CUDNN_CHECK_REPORT_H_

#include <string>

#include "absl/status/status.h"
#include "base/json.h"

namespace softlookup::cudnn {

class CheckReport {
 public:
  // `path` is where Write writes.
  explicit CheckReport(std::string path);

  Json& json() { return json_; }

  // Counts, prints and keeps, under "failures", a check that did not pass.
  void Check(bool passed, const std::string& what);
  // The same for what could not be done: "WHAT: the status' message".
  void Check(const absl::Status& status, const std::string& what);
  int failures() const { return failures_; }

  // Replaces the file by all there is so far, so that a run that is cut short
  // loses only what came after. WriteFileAtomically's errors.
  absl::Status Write() const;

 private:
  const std::string path_;
  Json json_;
  int failures_ = 0;
};

}  // namespace softlookup::cudnn

#endif  // SOFTLOOKUP_ATTENTION_CUDNN_CHECK_REPORT_H_
