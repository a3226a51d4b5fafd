#include "runtime/background.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace lathe::rt {
namespace {

// Idle: the thread runs when nothing else wants the core. A system that refuses leaves it as it is,
// which costs time but no correctness.
void SetIdle(pthread_t thread, bool idle) {
  sched_param parameters = {};
  pthread_setschedparam(thread, idle ? SCHED_IDLE : SCHED_OTHER, &parameters);
}

}  // namespace

// Locks of the standard library, here and in all of runtime: thread sanitizers see through them,
// which they don't through a prebuilt Abseil.
struct Background::Impl {
  struct Job {
    const void* owner;
    std::function<void()> run;
  };

  void Loop() {
    SetIdle(pthread_self(), true);
    pthread_setname_np(pthread_self(), "lathe-compile");
    for (;;) {
      std::unique_lock lock(mutex);
      changed.wait(lock, [this] { return ending || (!held && NextFree() != jobs.end()); });
      if (ending) return;
      RunJob(lock, NextFree());
    }
  }

  // Runs a queued job with the lock released meanwhile.
  void RunJob(std::unique_lock<std::mutex>& lock, std::deque<Job>::iterator at) {
    Job job = std::move(*at);
    jobs.erase(at);
    running.push_back(job.owner);
    lock.unlock();
    job.run();
    job.run = nullptr;  // what it holds goes before the owner is told that it ended
    lock.lock();
    running.erase(std::find(running.begin(), running.end(), job.owner));
    changed.notify_all();
  }

  std::deque<Job>::iterator Next(const void* owner) {
    return std::find_if(jobs.begin(), jobs.end(),
                        [owner](const Job& job) { return job.owner == owner; });
  }

  // The first job whose owner has none under way: somebody who waits may be running one.
  std::deque<Job>::iterator NextFree() {
    return std::find_if(jobs.begin(), jobs.end(),
                        [this](const Job& job) { return !Runs(job.owner); });
  }

  void Push(const void* owner, std::function<void()> job) {
    if (stopped) return;
    jobs.push_back({owner, std::move(job)});
    if (!thread.joinable()) thread = std::thread([this] { Loop(); });
    changed.notify_all();
  }

  bool Runs(const void* owner) const {
    return std::find(running.begin(), running.end(), owner) != running.end();
  }

  // Until no job of `owner` runs. Meanwhile the thread competes like any other.
  void WaitForRunning(std::unique_lock<std::mutex>& lock, const void* owner) {
    if (!Runs(owner)) return;
    if (++waiters == 1 && thread.joinable()) SetIdle(thread.native_handle(), false);
    changed.wait(lock, [&] { return !Runs(owner); });
    if (--waiters == 0 && thread.joinable()) SetIdle(thread.native_handle(), true);
  }

  std::mutex mutex;  // guards all below
  std::condition_variable changed;
  std::deque<Job> jobs;
  bool held = false;
  bool stopped = false;              // posts are dropped
  bool ending = false;               // the thread returns
  std::vector<const void*> running;  // owners of the jobs under way
  int waiters = 0;
  std::thread thread;
};

Background::Background() : impl_(std::make_unique<Impl>()) {}

Background::~Background() {
  Stop();
  std::thread thread;
  {
    std::unique_lock lock(impl_->mutex);
    impl_->ending = true;
    impl_->changed.notify_all();
    thread = std::move(impl_->thread);
  }
  if (thread.joinable()) thread.join();
}

void Background::Post(const void* owner, std::function<void()> job) {
  std::unique_lock lock(impl_->mutex);
  impl_->Push(owner, std::move(job));
}

bool Background::TryPost(const void* owner, std::function<void()> job) {
  std::unique_lock lock(impl_->mutex, std::try_to_lock);
  if (lock.owns_lock()) impl_->Push(owner, std::move(job));
  return lock.owns_lock();
}

void Background::Wait(const void* owner) {
  std::unique_lock lock(impl_->mutex);
  for (;;) {
    impl_->WaitForRunning(lock, owner);
    const auto next = impl_->Next(owner);
    if (next == impl_->jobs.end()) {
      if (!impl_->Runs(owner)) return;
    } else if (!impl_->held) {
      impl_->RunJob(lock, next);
    } else {
      impl_->changed.wait(lock);
    }
  }
}

void Background::Cancel(const void* owner) {
  std::unique_lock lock(impl_->mutex);
  std::erase_if(impl_->jobs, [owner](const Impl::Job& job) { return job.owner == owner; });
  impl_->changed.notify_all();
  impl_->WaitForRunning(lock, owner);
}

void Background::Hold(bool hold) {
  std::unique_lock lock(impl_->mutex);
  impl_->held = hold;
  impl_->changed.notify_all();
}

void Background::Stop() {
  std::unique_lock lock(impl_->mutex);
  impl_->stopped = true;
  impl_->jobs.clear();
  impl_->changed.notify_all();
  impl_->changed.wait(lock, [this] { return impl_->running.empty(); });
}

}  // namespace lathe::rt
