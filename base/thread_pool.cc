#include "base/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace softlookup {
namespace {

// How often to look for new work, or for the end of a loop, before giving the
// processor away. Loops inside one training step follow each other within
// microseconds; a sleeping thread takes tens of them to wake.
constexpr int kSpins = 2000;

thread_local bool inside_loop = false;

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

int AvailableProcessors() {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) == 0) {
    return std::clamp(CPU_COUNT(&allowed), 1, static_cast<int>(kMaxThreads));
  }
  return 1;
}

absl::Status CheckThreads(int64_t threads) {
  if (threads < 1 || threads > kMaxThreads) {
    return absl::InvalidArgumentError(
        absl::StrCat("threads is ", threads, "; allowed: 1 to ", kMaxThreads));
  }
  return absl::OkStatus();
}

ThreadPool::ThreadPool(int threads) {
  SOFTLOOKUP_CHECK(CheckThreads(threads).ok(), "a valid number of threads");
  shares_ = std::vector<Share>(threads);
  for (int i = 1; i < threads; ++i) {
    try {
      workers_.emplace_back([this, i] { Work(i); });
    } catch (const std::system_error&) {
      // As many as the system allows: a result does not depend on the number.
      return;
    }
  }
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::RunTasks(size_t thread) {
  inside_loop = true;
  for (size_t i = 0; i < shares_.size(); ++i) {
    Share& share = shares_[(thread + i) % shares_.size()];
    // What is empty is left alone: to look costs less than to count.
    while (share.next.load() < share.end) {
      const int64_t task = share.next.fetch_add(1);
      if (task < share.end) (*body_)(task);
    }
  }
  inside_loop = false;
}

void ThreadPool::Work(size_t thread) {
  uint64_t seen = 0;
  while (true) {
    for (int spin = 0; spin < kSpins; ++spin) {
      if (generation_.load() != seen || stop_.load()) break;
      Pause();
    }
    {
      std::unique_lock<std::mutex> lock(mutex_);
      wake_.wait(lock, [&] { return stop_ || generation_ != seen; });
      if (stop_) return;
      seen = generation_;
    }
    RunTasks(thread);
    running_.fetch_sub(1);
  }
}

void ThreadPool::ParallelFor(int64_t count,
                             const std::function<void(int64_t)>& body,
                             TaskOrder order) {
  std::unique_lock<std::mutex> loop(loop_mutex_, std::defer_lock);
  if (count <= 1 || workers_.empty() || inside_loop || !loop.try_lock()) {
    for (int64_t task = 0; task < count; ++task) body(task);
    return;
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    body_ = &body;
    const auto parts =
        order == TaskOrder::kNearby ? static_cast<int64_t>(threads()) : 1;
    // The first task of each part; parts differ by one task at most.
    const auto first = [count, parts](int64_t part) {
      part = std::min(part, parts);
      return count / parts * part + std::min(part, count % parts);
    };
    for (size_t i = 0; i < shares_.size(); ++i) {
      const auto part = static_cast<int64_t>(i);
      shares_[i].next = first(part);
      shares_[i].end = first(part + 1);
    }
    running_ = static_cast<int>(workers_.size());
    ++generation_;
  }
  wake_.notify_all();
  RunTasks(0);
  // Every worker passes through the loop, so that none still reads this one's
  // state when the next begins.
  for (int spin = 0; running_.load() != 0; ++spin) {
    if (spin < kSpins) {
      Pause();
    } else {
      std::this_thread::yield();
    }
  }
}

}  // namespace softlookup
