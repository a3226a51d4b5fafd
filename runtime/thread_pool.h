#pragma once
// Threads for one engine. The caller takes part; workers spin inside a call and shortly after it,
// then sleep. Several callers share the pool by taking free workers, else run serially. Results
// never depend on how tasks are split.
#include <cstdint>
#include <memory>

#include "runtime/kernel_abi.h"

namespace lathe::rt {

class ThreadPool {
 public:
  explicit ThreadPool(int threads);  // the caller included
  ~ThreadPool();
  int threads() const { return threads_; }

  // Runs fn over tasks 0..tasks-1 with worker numbers below threads(). Returns 0, or 1 if a part
  // failed; then *error is that of the lowest failing task range. Tasks go out in ascending chunks,
  // so every chunk below a failing one has run: which error comes back doesn't depend on threads.
  int64_t Run(KernelFn fn, void* const* buffers, const int64_t* sizes, int64_t tasks,
              KernelError* error);

 private:
  struct Impl;
  int threads_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lathe::rt
