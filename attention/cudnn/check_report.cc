#include "attention/cudnn/check_report.h"

#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"

namespace softlookup::cudnn {

CheckReport::CheckReport(std::string path) : path_(std::move(path)) {
  json_["failures"] = Json::array();
}

void CheckReport::Check(bool passed, const std::string& what) {
  if (passed) return;
  ++failures_;
  std::printf("FAILED: %s\n", what.c_str());
  json_["failures"].push_back(what);
}

void CheckReport::Check(const absl::Status& status, const std::string& what) {
  Check(status.ok(), absl::StrCat(what, ": ", status.message()));
}

absl::Status CheckReport::Write() const {
  // What was printed so far should not be lost either.
  std::fflush(stdout);
  return WriteFileAtomically(path_, DumpJson(json_));
}

}  // namespace softlookup::cudnn
