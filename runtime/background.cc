#include "runtime/background.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/control_word.h"

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
    pthread_setname_np(pthread_self(), "lathe-compile");
    std::unique_lock lock(mutex);
    SetIdle(pthread_self(), waiters == 0);
    for (;;) {
      changed.wait(lock, [this] { return ending || (!held && NextFree() != jobs.end()); });
      if (ending) return;
      RunJob(lock, NextFree());
    }
  }

  // Runs a queued job with the lock released meanwhile, and with the control word of a call,
  // whoever the thread belongs to.
  void RunJob(std::unique_lock<std::mutex>& lock, std::deque<Job>::iterator at) {
    Job job = std::move(*at);
    jobs.erase(at);
    running.push_back(job.owner);
    lock.unlock();
    {
      const ControlWordScope control_word;
      job.run();
    }
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
    if (!thread.joinable()) Start();
    changed.notify_all();
  }

  void Start() {
    try {
      thread = std::thread([this] { Loop(); });
    } catch (const std::system_error&) {
      // The system gives no more threads: the jobs stay for whoever waits, and the next post tries
      // again.
    }
  }

  bool Runs(const void* owner) const {
    return std::find(running.begin(), running.end(), owner) != running.end();
  }

  // While anybody waits for a job under way, the thread competes like any other.
  void AddWaiters(int change) {
    const bool idle = waiters == 0;
    waiters += change;
    if (idle != (waiters == 0) && thread.joinable()) SetIdle(thread.native_handle(), !idle);
  }

  // Until `done`, which a job under way makes true.
  template <typename Done>
  void WaitForJob(std::unique_lock<std::mutex>& lock, const Done& done) {
    if (done()) return;
    AddWaiters(1);
    changed.wait(lock, done);
    AddWaiters(-1);
  }

  // Until no job of `owner` runs.
  void WaitForRunning(std::unique_lock<std::mutex>& lock, const void* owner) {
    WaitForJob(lock, [&] { return !Runs(owner); });
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
  impl_->WaitForJob(lock, [this] { return impl_->running.empty(); });
}

Background::Hurry::Hurry(Background& background) : background_(background) {
  std::unique_lock lock(background_.impl_->mutex);
  background_.impl_->AddWaiters(1);
}

Background::Hurry::~Hurry() {
  std::unique_lock lock(background_.impl_->mutex);
  background_.impl_->AddWaiters(-1);
}

}  // namespace lathe::rt
