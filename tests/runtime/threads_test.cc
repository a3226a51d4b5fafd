// The thread pool and the background thread.
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <future>
#include <system_error>
#include <thread>
#include <vector>

#include "runtime/background.h"
#include "runtime/control_word.h"
#include "runtime/thread_pool.h"
#include "tests/runtime/no_more_threads.h"

namespace lathe::rt {
namespace {

// Counts each task in its own cell of buffer 0, and the largest worker number in sizes' place.
int64_t Count(void* const* buffers, const int64_t* sizes, int64_t begin, int64_t end,
              int64_t worker, KernelError* error) {
  std::atomic<int>* cells = static_cast<std::atomic<int>*>(buffers[0]);
  for (int64_t i = begin; i < end; ++i) ++cells[i];
  if (worker < 0 || worker >= sizes[0]) {
    *error = {0, begin, worker, sizes[0]};
    return 1;
  }
  return 0;
}

int64_t FailFrom(void* const*, const int64_t* sizes, int64_t begin, int64_t end, int64_t,
                 KernelError* error) {
  for (int64_t i = begin; i < end; ++i) {
    if (i < sizes[0]) continue;
    *error = {0, i, i, sizes[0]};
    return 1;
  }
  return 0;
}

TEST(ThreadPool, EveryTaskRunsOnce) {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    const int64_t sizes[] = {threads};
    for (int round = 0; round < 50; ++round) {
      for (int64_t tasks : {0, 1, 2, 3, 7, 100, 1000}) {
        std::vector<std::atomic<int>> cells(static_cast<size_t>(tasks) + 1);
        void* buffers[] = {cells.data()};
        KernelError error;
        ASSERT_EQ(pool.Run(Count, buffers, sizes, tasks, &error), 0);
        for (int64_t i = 0; i < tasks; ++i) ASSERT_EQ(cells[static_cast<size_t>(i)], 1);
      }
    }
  }
}

TEST(ThreadPool, WorksAfterItsThreadsSleep) {
  ThreadPool pool(2);
  const int64_t sizes[] = {2};
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::vector<std::atomic<int>> cells(100);
    void* buffers[] = {cells.data()};
    KernelError error;
    ASSERT_EQ(pool.Run(Count, buffers, sizes, 100, &error), 0);
    for (const auto& cell : cells) ASSERT_EQ(cell, 1);
  }
}

TEST(ThreadPool, TheLowestFailureComesBack) {
  for (int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    for (int64_t from : {0, 1, 37, 99}) {
      for (int round = 0; round < 20; ++round) {
        KernelError error;
        ASSERT_EQ(pool.Run(FailFrom, nullptr, &from, 100, &error), 1);
        ASSERT_EQ(error.position, from);
      }
    }
  }
}

TEST(ThreadPool, SeveralCallersShareTheWorkers) {
  ThreadPool pool(3);
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&] {
      const int64_t sizes[] = {3};
      for (int round = 0; round < 300; ++round) {
        std::vector<std::atomic<int>> cells(64);
        void* buffers[] = {cells.data()};
        KernelError error;
        wrong += pool.Run(Count, buffers, sizes, 64, &error) != 0;
        for (const auto& cell : cells) wrong += cell != 1;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Background, RunsInOrderAtIdlePriorityAndWaits) {
  Background background;
  std::vector<int> order;
  const int owner = 0, other = 0;
  std::promise<int> policy;
  background.Post(&owner, [&] { policy.set_value(sched_getscheduler(0)); });
  EXPECT_EQ(policy.get_future().get(), SCHED_IDLE) << "nobody waits by Wait";
  for (int i = 0; i < 5; ++i) background.Post(&owner, [&, i] { order.push_back(i); });
  background.Wait(&owner);
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_NE(sched_getscheduler(0), SCHED_IDLE) << "only the thread is idle";
  background.Wait(&other);
}

TEST(Background, JobsOfOneOwnerNeverRunAtOnce) {
  Background background;
  const int owner = 0;
  std::atomic<int> inside{0}, together{0}, done{0};
  const auto job = [&] {
    if (++inside > 1) ++together;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    --inside;
    ++done;
  };
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 4; ++i) background.Post(&owner, job);
    background.Wait(&owner);  // beside the thread
  }
  EXPECT_EQ(together, 0);
  EXPECT_EQ(done, 40);
}

TEST(Background, CancelDropsOnlyTheOwnersJobs) {
  Background background;
  background.Hold(true);
  std::atomic<int> first{0}, second{0};
  background.Post(&first, [&] { ++first; });
  background.Post(&second, [&] { ++second; });
  background.Cancel(&first);
  background.Hold(false);
  background.Wait(&second);
  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, 1);
}

TEST(Background, DestructionDropsWhatWaits) {
  std::atomic<int> ran{0};
  {
    Background background;
    background.Hold(true);
    background.Post(&ran, [&] { ++ran; });
  }
  EXPECT_EQ(ran, 0);
}

TEST(Background, StopWaitsForTheRunningJob) {
  Background background;
  std::atomic<bool> started{false}, done{false};
  background.Post(&done, [&] {
    started = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    done = true;
  });
  while (!started) std::this_thread::yield();
  background.Stop();
  EXPECT_TRUE(done);
  background.Post(&done, [&] { done = false; });
  background.Wait(&done);
  EXPECT_TRUE(done);
}

// True once the thread, at work in a job, isn't idle; false after seconds.
bool BecomesUrgent() {
  for (int i = 0; i < 5000; ++i) {
    if (sched_getscheduler(0) != SCHED_IDLE) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

TEST(Background, WhoeverWaitsForAJobLiftsItsThread) {
  for (const bool stop : {true, false}) {
    std::promise<void> started;
    std::promise<bool> lifted;
    std::promise<int> policy;
    Background background;
    background.Post(&background, [&] {
      started.set_value();
      lifted.set_value(BecomesUrgent());
    });
    started.get_future().wait();
    if (stop) {
      background.Stop();
      EXPECT_TRUE(lifted.get_future().get());
      continue;
    }
    {
      const Background::Hurry hurry(background);
      EXPECT_TRUE(lifted.get_future().get());
    }
    background.Wait(&background);
    background.Post(&background, [&] { policy.set_value(sched_getscheduler(0)); });
    EXPECT_EQ(policy.get_future().get(), SCHED_IDLE);
  }
}

TEST(Background, WithoutAThreadJobsStayForWhoeverWaits) {
  const int owner = 0, other = 0;
  int ran = 0;
  std::promise<void> later, next;
  Background background;
  {
    const NoMoreThreads none;
    EXPECT_THROW(std::thread([] {}), std::system_error);
    background.Post(&owner, [&] { ++ran; });
    EXPECT_TRUE(background.TryPost(&owner, [&] { ++ran; }));
    EXPECT_EQ(ran, 0);
    background.Wait(&owner);
    EXPECT_EQ(ran, 2);
    background.Post(&other, [&] { later.set_value(); });
    background.Post(&owner, [&] { ++ran; });
    background.Cancel(&owner);
  }
  background.Post(&owner, [&] { next.set_value(); });  // finds a thread for both
  later.get_future().wait();
  next.get_future().wait();
  EXPECT_EQ(ran, 2);
}

#if defined(__SSE__)
TEST(Background, JobsHaveTheControlWordOfACallOnEveryThread) {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(0x9fc0);  // flush to zero
  std::atomic<unsigned> on_thread{0}, waiting{0};
  std::promise<void> done;
  Background background;
  background.Post(&on_thread, [&] {
    on_thread = _mm_getcsr() & ~0x3fu;
    done.set_value();
  });
  done.get_future().wait();
  const NoMoreThreads none;
  Background without;
  without.Post(&waiting, [&] { waiting = _mm_getcsr() & ~0x3fu; });
  without.Wait(&waiting);
  EXPECT_EQ(_mm_getcsr() & ~0x3fu, 0x9fc0u);
  _mm_setcsr(before);
  EXPECT_EQ(on_thread, 0x1f80u);
  EXPECT_EQ(waiting, 0x1f80u);
}
#endif

}  // namespace
}  // namespace lathe::rt
