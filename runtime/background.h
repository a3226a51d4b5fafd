#pragma once
// The background compile thread: idle priority, one job at a time, in order of posting.
#include <functional>
#include <memory>

namespace lathe::rt {

class Background {
 public:
  Background();
  ~Background();  // drops jobs that have not started, waits for the running one
  void Post(const void* owner, std::function<void()> job);
  // Until no job of `owner` is queued or running.
  void Wait(const void* owner);
  // Drops the owner's queued jobs and waits for its running one.
  void Cancel(const void* owner);
  void Hold(bool hold);  // while held no job starts

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lathe::rt
