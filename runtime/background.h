#pragma once
// The background compile thread: idle priority, one job at a time, in order of posting. Whoever
// waits for an owner's jobs runs the queued ones himself, so that waiting never depends on when an
// idle thread gets a core; of one owner no two jobs ever run at once.
//
// Functions post the builds of their versions here; `owner` is the function. The thread starts with
// the first job, so an engine that never compiles in the background has none. Where the system
// gives no thread, jobs stay queued until somebody waits for them or a later post finds one.
#include <functional>
#include <memory>

namespace lathe::rt {

class Background {
 public:
  Background();
  ~Background();  // Stop, then ends the thread
  void Post(const void* owner, std::function<void()> job);
  // The same, but false, and nothing is posted, if that would have to wait for the queue.
  bool TryPost(const void* owner, std::function<void()> job);
  // Until no job of `owner` is queued or running; runs them unless held. Must not be called from a
  // job.
  void Wait(const void* owner);
  // Drops the owner's queued jobs and waits for its running one. Must not be called from a job.
  void Cancel(const void* owner);
  void Hold(bool hold);  // while held no job starts
  // Drops all queued jobs, waits for the running one; later posts are dropped.
  void Stop();
  // While one lives, the thread isn't idle: somebody waits for what its job holds.
  class Hurry {
   public:
    explicit Hurry(Background& background);
    ~Hurry();
    Hurry(const Hurry&) = delete;
    Hurry& operator=(const Hurry&) = delete;

   private:
    Background& background_;
  };

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lathe::rt
