#include "runtime/background.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <thread>
#include <utility>

#include "absl/synchronization/mutex.h"

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
        absl::MutexLock lock(&mutex);
        auto ready = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
          return ending || (!held && !jobs.empty());
        };
        mutex.Await(absl::Condition(&ready));
        if (ending) return;
        job = std::move(jobs.front());
        jobs.pop_front();
        running = true;
        running_owner = job.owner;
      }
      job.run();
      job.run = nullptr;  // what it holds goes before the owner is told that it ended
      absl::MutexLock lock(&mutex);
      running = false;
    }
  }

  void Push(const void* owner, std::function<void()> job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (stopped) return;
    jobs.push_back({owner, std::move(job)});
    if (!thread.joinable()) thread = std::thread([this] { Loop(); });
  }

  bool Idle(const void* owner) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (running && running_owner == owner) return false;
    return std::none_of(jobs.begin(), jobs.end(),
                        [owner](const Job& job) { return job.owner == owner; });
  }

  absl::Mutex mutex;
  std::deque<Job> jobs ABSL_GUARDED_BY(mutex);
  bool held ABSL_GUARDED_BY(mutex) = false;
  bool stopped ABSL_GUARDED_BY(mutex) = false;  // posts are dropped
  bool ending ABSL_GUARDED_BY(mutex) = false;   // the thread returns
  bool running ABSL_GUARDED_BY(mutex) = false;
  const void* running_owner ABSL_GUARDED_BY(mutex) = nullptr;
  std::thread thread ABSL_GUARDED_BY(mutex);
};

Background::Background() : impl_(std::make_unique<Impl>()) {}

Background::~Background() {
  Stop();
  std::thread thread;
  {
    absl::MutexLock lock(&impl_->mutex);
    impl_->ending = true;
    thread = std::move(impl_->thread);
  }
  if (thread.joinable()) thread.join();
}

void Background::Post(const void* owner, std::function<void()> job) {
  absl::MutexLock lock(&impl_->mutex);
  impl_->Push(owner, std::move(job));
}

bool Background::TryPost(const void* owner, std::function<void()> job) {
  if (!impl_->mutex.TryLock()) return false;
  impl_->Push(owner, std::move(job));
  impl_->mutex.Unlock();
  return true;
}

void Background::Wait(const void* owner) {
  absl::MutexLock lock(&impl_->mutex);
  auto idle = [this, owner]()
                  ABSL_EXCLUSIVE_LOCKS_REQUIRED(impl_->mutex) { return impl_->Idle(owner); };
  impl_->mutex.Await(absl::Condition(&idle));
}

void Background::Cancel(const void* owner) {
  absl::MutexLock lock(&impl_->mutex);
  std::erase_if(impl_->jobs, [owner](const Impl::Job& job) { return job.owner == owner; });
  auto idle = [this, owner]()
                  ABSL_EXCLUSIVE_LOCKS_REQUIRED(impl_->mutex) { return impl_->Idle(owner); };
  impl_->mutex.Await(absl::Condition(&idle));
}

void Background::Hold(bool hold) {
  absl::MutexLock lock(&impl_->mutex);
  impl_->held = hold;
}

void Background::Stop() {
  absl::MutexLock lock(&impl_->mutex);
  impl_->stopped = true;
  impl_->jobs.clear();
  auto idle = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(impl_->mutex) { return !impl_->running; };
  impl_->mutex.Await(absl::Condition(&idle));
}

}  // namespace lathe::rt
