#include "runtime/background.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace lathe::rt {
namespace {

// For the calling thread alone: it runs when nothing else wants the core. A system that refuses
// either leaves the thread at normal priority, which costs time but no correctness.
void LowerPriority() {
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), 19);
  sched_param parameters = {};
  pthread_setschedparam(pthread_self(), SCHED_IDLE, &parameters);
  pthread_setname_np(pthread_self(), "lathe-compile");
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
    LowerPriority();
    for (;;) {
      Job job;
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [this] { return ending || (!held && !jobs.empty()); });
        if (ending) return;
        job = std::move(jobs.front());
        jobs.pop_front();
        running = true;
        running_owner = job.owner;
      }
      job.run();
      job.run = nullptr;  // what it holds goes before the owner is told that it ended
      std::unique_lock lock(mutex);
      running = false;
      changed.notify_all();
    }
  }

  void Push(const void* owner, std::function<void()> job) {
    if (stopped) return;
    jobs.push_back({owner, std::move(job)});
    if (!thread.joinable()) thread = std::thread([this] { Loop(); });
    changed.notify_all();
  }

  bool Idle(const void* owner) const {
    if (running && running_owner == owner) return false;
    return std::none_of(jobs.begin(), jobs.end(),
                        [owner](const Job& job) { return job.owner == owner; });
  }

  std::mutex mutex;  // guards all below
  std::condition_variable changed;
  std::deque<Job> jobs;
  bool held = false;
  bool stopped = false;  // posts are dropped
  bool ending = false;   // the thread returns
  bool running = false;
  const void* running_owner = nullptr;
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
  impl_->changed.wait(lock, [this, owner] { return impl_->Idle(owner); });
}

void Background::Cancel(const void* owner) {
  std::unique_lock lock(impl_->mutex);
  std::erase_if(impl_->jobs, [owner](const Impl::Job& job) { return job.owner == owner; });
  impl_->changed.notify_all();
  impl_->changed.wait(lock, [this, owner] { return impl_->Idle(owner); });
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
  impl_->changed.wait(lock, [this] { return !impl_->running; });
}

}  // namespace lathe::rt
