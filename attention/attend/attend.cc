// attend: attention, forward and backward, from file to file. The oracle that
// other implementations can be held to, in any language that reads
// safetensors. Its flags: attend_request.cc; what the files hold:
// attend_input.h, attend_run.h.
//
//   bazel run //attention:attend -- --input=in.safetensors
//       --output=out.safetensors --causal=top_left --weights
#include <cstdio>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "attention/attend/attend_request.h"
#include "attention/attend/attend_run.h"
#include "base/file.h"
#include "base/program.h"
#include "base/safetensors/safetensors.h"
#include "base/status.h"
#include "base/tensor/shape.h"
#include "base/tensor/stored_tensor.h"

namespace softlookup {
namespace {

absl::Status Run() {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const AttendRequest request, RequestFromFlags());
  if (IsSameFile(request.input, request.output)) {
    return absl::InvalidArgumentError(
        absl::StrCat("flag --output is ", request.output,
                     ", the file of --input; allowed: another file"));
  }
  SOFTLOOKUP_ASSIGN_OR_RETURN(const SafetensorsFile file,
                              ReadSafetensors(request.input));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckWritable(request.output));
  absl::StatusOr<AttendResult> result = RunAttend(request, file);
  if (!result.ok()) {
    return absl::Status(
        result.status().code(),
        absl::StrCat(request.input, ": ", result.status().message()));
  }
  SOFTLOOKUP_RETURN_IF_ERROR(WriteSafetensors(request.output, result->file));
  std::printf("%swrote %s:\n", result->summary.c_str(), request.output.c_str());
  for (const StoredTensor& tensor : result->file.tensors) {
    std::printf("  %s %s\n", tensor.name.c_str(),
                ShapeString(tensor.shape).c_str());
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace softlookup

int main(int argc, char** argv) {
  return softlookup::RunProgram(
      argc, argv,
      "scaled dot-product attention, forward and backward, from a safetensors "
      "file to another; the reference that other implementations are held to.",
      softlookup::Run);
}
