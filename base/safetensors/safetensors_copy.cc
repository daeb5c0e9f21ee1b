// Reads a safetensors file and writes it again; for safetensors_interop_test.
#include <string>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "base/program.h"
#include "base/safetensors/safetensors.h"
#include "base/status.h"

ABSL_FLAG(std::string, input, "", "File to read.");
ABSL_FLAG(std::string, output, "", "File to write.");

namespace softlookup {
namespace {

absl::Status Run() {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const SafetensorsFile file,
                              ReadSafetensors(absl::GetFlag(FLAGS_input)));
  return WriteSafetensors(absl::GetFlag(FLAGS_output), file);
}

}  // namespace
}  // namespace softlookup

int main(int argc, char** argv) {
  return softlookup::RunProgram(argc, argv, "copies a safetensors file.",
                                softlookup::Run);
}
