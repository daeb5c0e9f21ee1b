// A program for program_test: prints its flags, or ends as --end says.
#include <cstdint>
#include <cstdio>
#include <new>
#include <stdexcept>
#include <string>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/program.h"

namespace softlookup {

// A type whose parser gives its own reason.
struct Colour {
  std::string name;
};
bool AbslParseFlag(absl::string_view text, Colour* colour, std::string* error) {
  colour->name = std::string(text);
  if (text == "red" || text == "green") return true;
  *error = "allowed: red, green";
  return false;
}
std::string AbslUnparseFlag(const Colour& colour) { return colour.name; }

}  // namespace softlookup

ABSL_FLAG(int64_t, keys, 16, "Number of keys.");
ABSL_FLAG(std::string, text, "", "Any text.");
ABSL_FLAG(bool, weights, true, "Whether to weigh.");
ABSL_FLAG(softlookup::Colour, colour, softlookup::Colour{"red"}, "Its colour.");
ABSL_FLAG(std::string, end, "ok", "How to end.");

namespace softlookup {
namespace {

absl::Status Run() {
  std::printf("keys %d, text \"%s\", weights %d, colour %s\n",
              static_cast<int>(absl::GetFlag(FLAGS_keys)),
              absl::GetFlag(FLAGS_text).c_str(), absl::GetFlag(FLAGS_weights),
              absl::GetFlag(FLAGS_colour).name.c_str());
  const std::string end = absl::GetFlag(FLAGS_end);
  if (end == "flushed") {
    // Lost before the program ends, so that nothing is left to flush then.
    std::fflush(stdout);
    return absl::OkStatus();
  }
  if (end == "bad_input") {
    return absl::InvalidArgumentError("line one\nline two\xff\x1b");
  }
  if (end == "failed") return absl::InternalError("it failed");
  if (end == "exception") throw std::runtime_error("thrown");
  if (end == "memory") throw std::bad_alloc();
  return absl::OkStatus();
}

}  // namespace
}  // namespace softlookup

int main(int argc, char** argv) {
  return softlookup::RunProgram(argc, argv, "Shows its flags.", softlookup::Run,
                                {{"entries", "keys"}});
}
