#include "base/program.h"

#include <csignal>
#include <cstdio>
#include <exception>
#include <map>
#include <new>
#include <vector>

#include "absl/flags/commandlineflag.h"
#include "absl/flags/reflection.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/printable.h"
#include "base/status.h"

namespace softlookup {
namespace {

// The command line is parsed here rather than by Abseil, which ends a program
// with exit code 1 and several lines where we promise 2 and one, and with 1
// after --help.

// Sets a flag, or says why not.
absl::Status SetFlag(absl::CommandLineFlag& flag, const std::string& value) {
  std::string error;
  if (flag.ParseFrom(value, &error)) return absl::OkStatus();
  // Abseil's message begins with what ours says too; the rest, if any, is what
  // the flag's type has to say.
  absl::string_view reason = error;
  absl::ConsumePrefix(
      &reason, absl::StrCat("Illegal value '", value, "' specified for flag '",
                            flag.Name(), "'"));
  return absl::InvalidArgumentError(
      absl::StrCat("flag --", flag.Name(), ": \"", value,
                   "\" is not a valid value", reason, " (see --help)"));
}

// The boolean flag that "--NAME" without a value turns off: "noweights" for
// --weights. nullptr if there is none.
absl::CommandLineFlag* NegatedFlag(absl::string_view name) {
  if (!absl::ConsumePrefix(&name, "no")) return nullptr;
  absl::CommandLineFlag* flag = absl::FindCommandLineFlag(name);
  return flag != nullptr && flag->IsOfType<bool>() ? flag : nullptr;
}

bool IsHelp(const std::string& argument) {
  return argument == "--help" || argument == "-help" || argument == "-h";
}

absl::Status ParseFlags(const std::vector<std::string>& arguments,
                        const RenamedFlags& renamed) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    absl::string_view body = arguments[i];
    if (!absl::ConsumePrefix(&body, "-") || body.empty() || body == "-") {
      return absl::InvalidArgumentError(
          absl::StrCat("unexpected argument \"", arguments[i],
                       "\"; flags are written --name=value (see --help)"));
    }
    absl::ConsumePrefix(&body, "-");
    const size_t equals = body.find('=');
    const absl::string_view name = body.substr(0, equals);
    absl::CommandLineFlag* flag = absl::FindCommandLineFlag(name);
    absl::CommandLineFlag* negated =
        flag == nullptr ? NegatedFlag(name) : nullptr;
    if (flag == nullptr && negated == nullptr) {
      const auto found = renamed.find(std::string(name));
      if (found != renamed.end()) {
        return absl::InvalidArgumentError(
            absl::StrCat("--", name, " is now --", found->second));
      }
      return absl::InvalidArgumentError(
          absl::StrCat("unknown flag --", name, " (see --help)"));
    }
    if (equals != absl::string_view::npos) {
      if (negated != nullptr) {
        return absl::InvalidArgumentError(
            absl::StrCat("flag --", name, " takes no value"));
      }
      SOFTLOOKUP_RETURN_IF_ERROR(
          SetFlag(*flag, std::string(body.substr(equals + 1))));
    } else if (negated != nullptr) {
      SOFTLOOKUP_RETURN_IF_ERROR(SetFlag(*negated, "false"));
    } else if (flag->IsOfType<bool>()) {
      SOFTLOOKUP_RETURN_IF_ERROR(SetFlag(*flag, "true"));
    } else if (i + 1 < arguments.size()) {
      SOFTLOOKUP_RETURN_IF_ERROR(SetFlag(*flag, arguments[++i]));
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("flag --", name, " needs a value"));
    }
  }
  return absl::OkStatus();
}

void PrintHelp(const std::string& program, const std::string& usage) {
  std::printf("%s: %s\n\nFlags:\n", program.c_str(), usage.c_str());
  std::map<std::string, const absl::CommandLineFlag*> flags;
  for (const auto& [name, flag] : absl::GetAllFlags()) {
    flags[std::string(name)] = flag;
  }
  for (const auto& [name, flag] : flags) {
    std::printf("  --%s (default: \"%s\")\n      %s\n", name.c_str(),
                flag->DefaultValue().c_str(), flag->Help().c_str());
  }
}

// What was printed must have arrived: a full disk under a redirection shows
// only here.
absl::Status FlushOutput() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError("cannot write to standard output");
}

int Finish(const std::string& program, absl::Status status) {
  const absl::Status flushed = FlushOutput();
  if (status.ok()) status = flushed;
  if (!status.ok()) {
    std::fprintf(stderr, "%s: %s\n", program.c_str(),
                 Printable(status.message()).c_str());
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

absl::Status RunGuarded(const std::function<absl::Status()>& run) {
  try {
    return run();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("out of memory");
  } catch (const std::exception& error) {
    return absl::InternalError(error.what());
  }
}

}  // namespace

std::string ProgramName(const char* argv0) {
  const std::string path = argv0;
  return path.substr(path.find_last_of('/') + 1);
}

int RunProgram(int argc, char** argv, const std::string& usage,
               const std::function<absl::Status()>& run,
               const RenamedFlags& renamed) {
  const std::string program = ProgramName(argv[0]);
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  for (const std::string& argument : arguments) {
    if (IsHelp(argument)) {
      PrintHelp(program, usage);
      return Finish(program, absl::OkStatus());
    }
  }
  // A write beyond the limit on file sizes shall fail like one on a full disk,
  // not end the program with a file half-written.
  std::signal(SIGXFSZ, SIG_IGN);
  absl::Status status = ParseFlags(arguments, renamed);
  if (status.ok()) status = CheckProcessor();
  if (status.ok()) status = RunGuarded(run);
  return Finish(program, status);
}

}  // namespace softlookup
