#pragma once
// What an engine owns: options, allocator, threads, artefact cache, background thread. Functions
// and contexts hold it by shared_ptr, so they outlive the Engine object. No globals.
#include <atomic>
#include <chrono>
#include <memory>

#include "absl/status/status.h"
#include "lathe/engine.h"
#include "runtime/allocator.h"
#include "runtime/artefact.h"
#include "runtime/background.h"
#include "runtime/thread_pool.h"

namespace lathe::rt {

// The compiler's own state (LLVM target, packed weights), opaque here.
class CompilerState {
 public:
  virtual ~CompilerState() = default;
  virtual void AddCounters(EngineCounters* c) const = 0;
};

struct EngineState {
  // `threads` is resolved: 0 becomes the number of cores that this process may use.
  explicit EngineState(const EngineOptions& options);

  // Of the runtime and, through `compiler`, of the compilers.
  EngineCounters Counters() const;
  void ResetPeak();  // of the allocator and of the poisoned values
  double SecondsSinceBirth() const;

  EngineOptions options;  // threads resolved
  std::chrono::steady_clock::time_point born;
  std::shared_ptr<CompilerState> compiler;
  absl::Status broken;  // why there is no compiler, if there is none
  Allocator allocator;
  ArtefactCache cache;
  ThreadPool pool;
  // versions_swapped: tables that took the place of an earlier one, so that later calls may be
  // served by a version that was built in the background.
  std::atomic<int64_t> arena_growths{0}, packed_input_bytes{0}, versions_built{0},
      versions_swapped{0};
  std::atomic<int64_t> poison_peak_bytes{0};  // most bytes of values and outputs live at a time
  Background background;                      // last: stops first
};

}  // namespace lathe::rt
