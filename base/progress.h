// A progress line for work over two seconds, on a terminal only.
//
//   Progress progress("draw", 5000);
//   for (int64_t i = 0; i < 5000; ++i) {
//     ...
//     progress.Update(i + 1);                 // or Update(i + 1, "loss 1.23")
//   }
//
// Shows "draw 1200/5000, loss 1.23, 800/s, 5 s left" on stderr, rewritten in
// place at most ten times a second, and clears it when it goes out of scope.
#ifndef SOFTLOOKUP_BASE_PROGRESS_H_
#define SOFTLOOKUP_BASE_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <string>

namespace softlookup {

class Progress {
 public:
  Progress(std::string unit, int64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `done` of the total are finished; `detail` is shown beside it.
  void Update(int64_t done, const std::string& detail = "");

 private:
  using Clock = std::chrono::steady_clock;

  const std::string unit_;
  const int64_t total_;
  const bool terminal_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point shown_ = start_;
  bool visible_ = false;
};

}  // namespace softlookup

#endif  // SOFTLOOKUP_BASE_PROGRESS_H_
