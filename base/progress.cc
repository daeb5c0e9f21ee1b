#include "base/progress.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace softlookup {
namespace {

constexpr std::chrono::seconds kQuiet(2);
constexpr std::chrono::milliseconds kInterval(100);

}  // namespace

Progress::Progress(std::string unit, int64_t total)
    : unit_(std::move(unit)),
      total_(total),
      terminal_(::isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  // Back to the start of the line, and clear to its end.
  if (visible_) std::fputs("\r\033[K", stderr);
}

void Progress::Update(int64_t done, const std::string& detail) {
  if (!terminal_ || done <= 0) return;
  const Clock::time_point now = Clock::now();
  if (now - start_ < kQuiet || now - shown_ < kInterval) return;
  shown_ = now;
  visible_ = true;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double rate = static_cast<double>(done) / seconds;
  const double left = static_cast<double>(total_ - done) / rate;
  std::fputs(absl::StrFormat(
                 "\r\033[K%s %d/%d%s, %.3g/s, %.0f s left", unit_, done, total_,
                 detail.empty() ? "" : absl::StrCat(", ", detail), rate, left)
                 .c_str(),
             stderr);
  std::fflush(stderr);
}

}  // namespace softlookup
