#include "base/thread_pool.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace softlookup {
namespace {

TEST(ThreadPoolTest, RunsEveryTaskOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const TaskOrder order : {TaskOrder::kFirstFirst, TaskOrder::kNearby}) {
      for (const int64_t count : {0, 1, 2, 7, 1000}) {
        std::vector<std::atomic<int>> runs(count);
        pool.ParallelFor(
            count, [&](int64_t task) { ++runs[task]; }, order);
        for (int64_t task = 0; task < count; ++task) {
          ASSERT_EQ(runs[task], 1) << threads << " threads, task " << task;
        }
      }
    }
  }
}

// The tasks that four threads begin a loop of nine with, by thread: none
// finishes before all have begun.
std::map<std::thread::id, int64_t> FirstTasks(ThreadPool& pool,
                                              TaskOrder order) {
  std::map<std::thread::id, int64_t> tasks;
  std::mutex mutex;
  std::condition_variable begun;
  pool.ParallelFor(
      9,
      [&](int64_t task) {
        std::unique_lock<std::mutex> lock(mutex);
        tasks.emplace(std::this_thread::get_id(), task);
        begun.notify_all();
        begun.wait(lock, [&] { return tasks.size() == 4; });
      },
      order);
  return tasks;
}

std::set<int64_t> Values(const std::map<std::thread::id, int64_t>& tasks) {
  std::set<int64_t> values;
  for (const auto& [thread, task] : tasks) values.insert(task);
  return values;
}

TEST(ThreadPoolTest, TheFirstTasksStartFirst) {
  ThreadPool pool(4);
  EXPECT_EQ(Values(FirstTasks(pool, TaskOrder::kFirstFirst)),
            std::set<int64_t>({0, 1, 2, 3}));
}

TEST(ThreadPoolTest, ThreadsBeginWithTheSameTasksEveryTime) {
  ThreadPool pool(4);
  const auto first = FirstTasks(pool, TaskOrder::kNearby);
  EXPECT_EQ(Values(first), std::set<int64_t>({0, 3, 5, 7}));
  EXPECT_EQ(first.at(std::this_thread::get_id()), 0);
  for (int loop = 0; loop < 20; ++loop) {
    EXPECT_EQ(FirstTasks(pool, TaskOrder::kNearby), first);
  }
}

// With all threads but one held up in their first task, the one does the rest.
TEST(ThreadPoolTest, ThreadsHelpTheOthers) {
  for (const int threads : {2, 3, 5}) {
    ThreadPool pool(threads);
    const int64_t count = 3 * threads;
    for (int64_t free = 0; free < count; free += 3) {
      std::mutex mutex;
      std::condition_variable finished;
      const int64_t others = count - (threads - 1);
      int64_t done = 0;
      pool.ParallelFor(
          count,
          [&](int64_t task) {
            std::unique_lock<std::mutex> lock(mutex);
            if (task % 3 == 0 && task != free) {
              EXPECT_TRUE(finished.wait_for(lock, std::chrono::seconds(20),
                                            [&] { return done == others; }))
                  << threads << " threads, task " << task;
            } else {
              ++done;
              finished.notify_all();
            }
          },
          TaskOrder::kNearby);
      ASSERT_FALSE(HasFailure());
    }
  }
}

TEST(ThreadPoolTest, ReturnsOnlyWhenAllTasksHaveFinished) {
  ThreadPool pool(4);
  for (int loop = 0; loop < 500; ++loop) {
    std::vector<int> written(64, 0);  // not atomic: the loop's end orders it
    pool.ParallelFor(64, [&](int64_t task) { written[task] = loop + 1; });
    for (const int value : written) ASSERT_EQ(value, loop + 1);
  }
}

TEST(ThreadPoolTest, ALoopInsideATaskRunsThere) {
  ThreadPool pool(3);
  std::vector<std::atomic<int>> runs(12 * 5);
  pool.ParallelFor(12, [&](int64_t outer) {
    const std::thread::id here = std::this_thread::get_id();
    pool.ParallelFor(5, [&](int64_t inner) {
      EXPECT_EQ(std::this_thread::get_id(), here);
      ++runs[outer * 5 + inner];
    });
  });
  for (const auto& run : runs) EXPECT_EQ(run, 1);
}

TEST(ThreadPoolTest, LoopsOfSeveralCallersDoNotMix) {
  ThreadPool pool(2);
  std::vector<std::thread> callers;
  std::atomic<int64_t> sum{0};
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int loop = 0; loop < 200; ++loop) {
        pool.ParallelFor(10, [&](int64_t task) { sum += task; });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum, 4 * 200 * 45);
}

// Each caller's tasks are its own: what a loop has written is complete and its
// when it returns, however many loops begin at a time.
TEST(ThreadPoolTest, LoopsThatBeginTogetherKeepTheirTasks) {
  ThreadPool pool(3);
  std::atomic<int> ready{0};
  const auto call = [&](int64_t count) {
    std::vector<int> written(count);
    ++ready;
    while (ready < 2) std::this_thread::yield();
    for (int loop = 1; loop <= 3000; ++loop) {
      pool.ParallelFor(count, [&](int64_t task) { written[task] += 1; });
      for (const int value : written) {
        if (value != loop) return false;
      }
    }
    return true;
  };
  bool other = false;
  std::thread caller([&] { other = call(5); });
  EXPECT_TRUE(call(9));
  caller.join();
  EXPECT_TRUE(other);
}

TEST(ThreadPoolDeathTest, ANumberOfThreadsThatCannotBeIsAProgrammersError) {
  EXPECT_DEATH(ThreadPool(0), "a valid number of threads");
  EXPECT_DEATH(ThreadPool(1025), "a valid number of threads");
}

TEST(ThreadPoolTest, UsesSeveralThreads) {
  ThreadPool pool(2);
  // Two tasks that each wait for the other can only end on two threads.
  std::atomic<int> arrived{0};
  pool.ParallelFor(2, [&](int64_t) {
    ++arrived;
    while (arrived < 2) std::this_thread::yield();
  });
  EXPECT_EQ(arrived, 2);
}

TEST(ThreadPoolTest, ChecksTheNumberOfThreads) {
  EXPECT_TRUE(CheckThreads(1).ok());
  EXPECT_TRUE(CheckThreads(1024).ok());
  EXPECT_EQ(CheckThreads(0).message(), "threads is 0; allowed: 1 to 1024");
  EXPECT_EQ(CheckThreads(10000).message(),
            "threads is 10000; allowed: 1 to 1024");
  EXPECT_GE(AvailableProcessors(), 1);
}

}  // namespace
}  // namespace softlookup
