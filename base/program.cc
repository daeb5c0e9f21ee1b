#include "base/program.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <vector>

#include "absl/flags/commandlineflag.h"
#include "absl/flags/parse.h"
#include "absl/flags/reflection.h"
#include "absl/flags/usage.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "base/status.h"

namespace softlookup {
namespace {

// Checks the command line before Abseil parses it: Abseil exits with 1, after
// several lines, where we promise 2 and one line.
absl::Status CheckCommandLine(const std::vector<std::string>& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument.size() < 2 || argument[0] != '-' || argument == "--") {
      return absl::InvalidArgumentError(
          absl::StrCat("unexpected argument \"", argument,
                       "\"; flags are written --name=value (see --help)"));
    }
    const std::string body = argument.substr(argument[1] == '-' ? 2 : 1);
    const size_t equals = body.find('=');
    const std::string name = body.substr(0, equals);
    absl::CommandLineFlag* flag = absl::FindCommandLineFlag(name);
    if (flag == nullptr && absl::StartsWith(name, "no")) {
      absl::CommandLineFlag* positive =
          absl::FindCommandLineFlag(name.substr(2));
      if (positive != nullptr && positive->IsOfType<bool>()) {
        if (equals != std::string::npos) {
          return absl::InvalidArgumentError(
              absl::StrCat("flag --", name, " takes no value"));
        }
        continue;
      }
    }
    if (flag == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("unknown flag --", name, " (see --help)"));
    }
    std::string value;
    if (equals != std::string::npos) {
      value = body.substr(equals + 1);
    } else if (flag->IsOfType<bool>()) {
      value = "true";
    } else if (i + 1 < arguments.size()) {
      value = arguments[++i];
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("flag --", name, " needs a value"));
    }
    // Abseil's own flags (--help and so on) take effect by being parsed.
    if (!absl::StrContains(flag->Filename(), "absl/flags")) {
      std::string error;
      if (!flag->ParseFrom(value, &error)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "flag --", name, ": \"", value, "\" is not a valid value",
            error.empty() ? "" : ": ", absl::StripAsciiWhitespace(error)));
      }
    }
  }
  return absl::OkStatus();
}

// One line, however many the message had.
std::string OneLine(absl::string_view message) {
  return absl::StrReplaceAll(message, {{"\n", " "}, {"\r", " "}});
}

int Report(const std::string& program, const absl::Status& status) {
  if (!status.ok()) {
    std::fflush(stdout);
    std::fprintf(stderr, "%s: %s\n", program.c_str(),
                 OneLine(status.message()).c_str());
  }
  return ExitCode(status);
}

// The elementary functions are compiled for fused multiply-add; without it
// the first call would die on an illegal instruction.
absl::Status CheckProcessor() {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("fma")) {
    return absl::InternalError(
        "this processor has no fused multiply-add (FMA); it is needed for "
        "reproducible results");
  }
#endif
  return absl::OkStatus();
}

}  // namespace

std::string ProgramName(const char* argv0) {
  const std::string path = argv0;
  return path.substr(path.find_last_of('/') + 1);
}

int RunProgram(int argc, char** argv, const std::string& usage,
               const std::function<absl::Status()>& run) {
  const std::string program = ProgramName(argv[0]);
  if (absl::Status status = CheckProcessor(); !status.ok()) {
    return Report(program, status);
  }
  if (absl::Status status =
          CheckCommandLine(std::vector<std::string>(argv + 1, argv + argc));
      !status.ok()) {
    return Report(program, status);
  }
  absl::SetProgramUsageMessage(usage);
  absl::ParseCommandLine(argc, argv);
  try {
    return Report(program, run());
  } catch (const std::bad_alloc&) {
    return Report(program, absl::ResourceExhaustedError("out of memory"));
  } catch (const std::exception& error) {
    return Report(program, absl::InternalError(error.what()));
  }
}

}  // namespace softlookup
