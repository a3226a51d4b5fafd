#include "runtime/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <system_error>
#include <thread>
#include <vector>

#include "runtime/control_word.h"

namespace lathe::rt {
namespace {

constexpr size_t kCacheLine = 64;
// After a region, before going to sleep: what a caller does between two calls of a decode loop is
// shorter, and to wake a thread costs as much as a tenth of a call of a millisecond.
constexpr auto kSpinTime = std::chrono::microseconds(300);
constexpr int kSpinsPerClock = 64;       // reads of the clock are dear
constexpr int kSpinsBeforeYield = 4096;  // more threads than cores: let them run
constexpr int64_t kChunksPerThread = 4;

inline void Relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// One parallel region; lives on its caller's stack. A worker touches it only between its claim and
// its decrement of `pending`.
struct Region {
  KernelFn fn;
  void* const* buffers;
  const int64_t* sizes;
  int64_t tasks, chunk;
  alignas(kCacheLine) std::atomic<int64_t> next{0};
  alignas(kCacheLine) std::atomic<int> pending{0};
  std::atomic_flag error_lock = ATOMIC_FLAG_INIT;
  int64_t error_begin = INT64_MAX;  // task range of `error`; guarded by error_lock
  KernelError error = {};

  void Work(int64_t worker) {
    for (;;) {
      const int64_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
      if (begin >= tasks) return;
      KernelError found;
      const int64_t end = std::min(begin + chunk, tasks);
      if (fn(buffers, sizes, begin, end, worker, &found) != 0) Fail(begin, found);
    }
  }

  void Fail(int64_t begin, const KernelError& found) {
    next.store(tasks, std::memory_order_relaxed);
    while (error_lock.test_and_set(std::memory_order_acquire)) Relax();
    if (begin < error_begin) {
      error_begin = begin;
      error = found;
    }
    error_lock.clear(std::memory_order_release);
  }
};

}  // namespace

struct ThreadPool::Impl {
  struct alignas(kCacheLine) Worker {
    std::atomic<bool> taken{false};        // by a caller, for one region
    std::atomic<Region*> region{nullptr};  // offered by the caller; whoever exchanges it out has it
    std::atomic<uint32_t> asleep{0};
    std::thread thread;
  };

  explicit Impl(size_t count) : workers(count) {
    for (size_t i = 0; i < count; ++i) {
      try {
        workers[i].thread =
            std::thread([this, i] { Loop(workers[i], static_cast<int64_t>(i + 1)); });
      } catch (const std::system_error&) {
        workers[i].taken.store(true);  // the system gives no more threads: never offered anything
      }
    }
  }

  ~Impl() {
    stop.store(true);
    for (Worker& w : workers) {
      w.asleep.store(0);
      w.asleep.notify_one();
    }
    for (Worker& w : workers) {
      if (w.thread.joinable()) w.thread.join();
    }
  }

  void Loop(Worker& w, int64_t number) {
    pthread_setname_np(pthread_self(), "lathe-worker");
    SetDefaultControlWord();  // a new thread inherits that of its creator
    while (!stop.load(std::memory_order_relaxed)) {
      if (Region* r = Spin(w)) {
        r->Work(number);
        r->pending.fetch_sub(1, std::memory_order_release);
        continue;
      }
      // Either the caller sees `asleep` and wakes, or this thread sees the region: both are
      // sequentially consistent.
      w.asleep.store(1);
      if (w.region.load() == nullptr && !stop.load()) w.asleep.wait(1);
      w.asleep.store(0);
    }
  }

  // The region offered within the spin time, claimed; null if none came.
  Region* Spin(Worker& w) {
    const auto until = std::chrono::steady_clock::now() + kSpinTime;
    do {
      for (int i = 0; i < kSpinsPerClock; ++i) {
        if (w.region.load(std::memory_order_relaxed) != nullptr) {
          // The caller may have taken it back in between.
          if (Region* r = w.region.exchange(nullptr, std::memory_order_acquire)) return r;
        }
        Relax();
      }
    } while (std::chrono::steady_clock::now() < until && !stop.load(std::memory_order_relaxed));
    return nullptr;
  }

  static bool Take(Worker& w) {
    return !w.taken.load(std::memory_order_relaxed) &&
           !w.taken.exchange(true, std::memory_order_acquire);
  }

  static void Offer(Worker& w, Region* r) {
    w.region.store(r);
    if (w.asleep.load() != 0) {
      w.asleep.store(0);
      w.asleep.notify_one();
    }
  }

  std::vector<Worker> workers;
  std::atomic<bool> stop{false};
};

ThreadPool::ThreadPool(int threads)
    : threads_(std::max(threads, 1)),
      impl_(std::make_unique<Impl>(static_cast<size_t>(threads_) - 1)) {}

ThreadPool::~ThreadPool() = default;

int64_t ThreadPool::Run(KernelFn fn, void* const* buffers, const int64_t* sizes, int64_t tasks,
                        KernelError* error) {
  if (tasks <= 0) return 0;
  constexpr size_t kMaxTaken = 256;
  Impl::Worker* taken[kMaxTaken];
  size_t count = 0;
  const size_t wanted = static_cast<size_t>(std::min<int64_t>(tasks - 1, kMaxTaken));
  for (Impl::Worker& w : impl_->workers) {
    if (count == wanted) break;
    if (Impl::Take(w)) taken[count++] = &w;
  }
  if (count == 0) return fn(buffers, sizes, 0, tasks, 0, error);

  const int64_t participants = static_cast<int64_t>(count) + 1;
  Region region{fn, buffers, sizes, tasks,
                std::max<int64_t>(tasks / (kChunksPerThread * participants), 1)};
  region.pending.store(static_cast<int>(count), std::memory_order_relaxed);
  for (size_t i = 0; i < count; ++i) Impl::Offer(*taken[i], &region);
  region.Work(0);
  // A worker that hasn't begun isn't waited for: its offer is taken back.
  for (size_t i = 0; i < count; ++i) {
    if (taken[i]->region.exchange(nullptr, std::memory_order_acq_rel) != nullptr) {
      region.pending.fetch_sub(1, std::memory_order_relaxed);
    }
  }
  for (int spins = 0; region.pending.load(std::memory_order_acquire) != 0; ++spins) {
    Relax();
    if (spins > kSpinsBeforeYield) std::this_thread::yield();
  }
  for (size_t i = 0; i < count; ++i) taken[i]->taken.store(false, std::memory_order_release);
  if (region.error_begin == INT64_MAX) return 0;
  *error = region.error;
  return 1;
}

}  // namespace lathe::rt
