// A persistent pool of threads for loops over independent tasks.
//
//   ThreadPool pool(4);                     // the caller and three workers
//   pool.ParallelFor(tasks, [&](int64_t task) { ... });
//
// Results must not depend on which thread runs a task, nor on how many there
// are: a task writes what no other task of the loop writes, and sums are
// grouped by shape, never by thread. A pool without work sleeps. A loop inside
// a task of a loop on several threads, or started while another thread's loop
// is running, runs on the calling thread alone, so nesting is safe.
#ifndef SOFTLOOKUP_BASE_THREAD_POOL_H_
#define SOFTLOOKUP_BASE_THREAD_POOL_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/status/status.h"

namespace softlookup {

// The processors that this process may run on; the default of `--threads`.
int AvailableProcessors();

// InvalidArgument unless 1 <= threads <= kMaxThreads.
absl::Status CheckThreads(int64_t threads);

inline constexpr int64_t kMaxThreads = 1024;

// How a loop's tasks are dealt out.
enum class TaskOrder {
  // The first tasks start first: put the longest there.
  kFirstFirst,
  // Each thread begins with a run of its own, the same in every loop of as many
  // tasks, and then helps the others: data that one loop wrote are still in the
  // cache of the thread that reads them in the next. For tasks of like length.
  kNearby,
};

class ThreadPool {
 public:
  // Starts threads - 1 workers, or as many as the system allows. `threads` must
  // pass CheckThreads.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls body(task) for every task in [0, count), in no fixed order, and
  // returns when all have finished. `body` must not throw.
  void ParallelFor(int64_t count, const std::function<void(int64_t)>& body,
                   TaskOrder order = TaskOrder::kNearby);

 private:
  // Tasks of a loop that nobody has taken, [next, end); on a line of the cache
  // of its own.
  struct alignas(64) Share {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };

  void Work(size_t thread);
  void RunTasks(size_t thread);

  std::vector<std::thread> workers_;
  std::mutex loop_mutex_;  // held by the one loop that uses the workers

  std::mutex mutex_;
  std::condition_variable wake_;
  // The loop in progress. A new generation announces one.
  std::atomic<uint64_t> generation_{0};
  std::atomic<bool> stop_{false};
  const std::function<void(int64_t)>* body_ = nullptr;
  std::vector<Share> shares_;    // of each thread; the caller's first
  std::atomic<int> running_{0};  // workers that have not finished the loop
};

}  // namespace softlookup

#endif  // SOFTLOOKUP_BASE_THREAD_POOL_H_
