#include "runtime/engine_state.h"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace lathe::rt {
namespace {

constexpr int kMaxThreads = 256;

// The cores that this process may use, which a container may have narrowed.
int UsableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(CPU_COUNT(&set), 1);
  return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
}

EngineOptions Resolve(EngineOptions options) {
  if (options.threads <= 0) options.threads = UsableCores();
  options.threads = std::min(options.threads, kMaxThreads);
  return options;
}

}  // namespace

EngineState::EngineState(const EngineOptions& given)
    : options(Resolve(given)),
      born(std::chrono::steady_clock::now()),
      cache(options.max_code_bytes),
      pool(options.threads) {}

EngineCounters EngineState::Counters() const {
  EngineCounters c;
  c.live_bytes = allocator.live_bytes();
  c.peak_bytes = allocator.peak_bytes();
  c.arena_growths = arena_growths.load();
  c.packed_input_bytes = packed_input_bytes.load();
  c.poison_peak_bytes = poison_peak_bytes.load();
  c.versions_built = versions_built.load();
  c.versions_swapped = versions_swapped.load();
  const CacheCounters cached = cache.counters();
  c.cache_hits = cached.hits;
  c.cache_misses = cached.misses;
  c.cache_evictions = cached.evictions;
  c.code_bytes = cached.bytes;
  if (compiler != nullptr) compiler->AddCounters(&c);
  return c;
}

void EngineState::ResetPeak() {
  allocator.ResetPeak();
  poison_peak_bytes.store(0);
}

double EngineState::SecondsSinceBirth() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - born).count();
}

}  // namespace lathe::rt
