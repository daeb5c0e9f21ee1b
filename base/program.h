// The main function of every program: flags, one clear error, exit code.
//
//   ABSL_FLAG(int64_t, keys, 16, "Number of keys.");
//
//   int main(int argc, char** argv) {
//     return softlookup::RunProgram(
//         argc, argv, "Measures attention's saturation.", [] { return Run();
//         });
//   }
//
// Exit codes: 0 success; 1 the run failed; 2 bad usage or bad input. An error
// is one line on stderr, "PROGRAM: what is wrong". An exception, and output
// that could not be written, is a failed run.
#ifndef SOFTLOOKUP_BASE_PROGRAM_H_
#define SOFTLOOKUP_BASE_PROGRAM_H_

#include <functional>
#include <map>
#include <string>

#include "absl/status/status.h"

namespace softlookup {

// Flags that have another name now: {"heads", "n_heads"}.
using RenamedFlags = std::map<std::string, std::string>;

// Parses Abseil flags strictly (an unknown flag, a bad value or a positional
// argument is a usage error), then calls `run`. A flag is written --name=value
// or --name value, a boolean one also --name and --noname. With --help among
// the arguments it prints `usage` and the flags instead. An old name of
// `renamed` is a usage error, "--heads is now --n_heads".
int RunProgram(int argc, char** argv, const std::string& usage,
               const std::function<absl::Status()>& run,
               const RenamedFlags& renamed = {});

// "saturation", from "/path/to/saturation".
std::string ProgramName(const char* argv0);

}  // namespace softlookup

#endif  // SOFTLOOKUP_BASE_PROGRAM_H_
