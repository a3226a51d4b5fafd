#pragma once
// An artefact: one compiled kernel, and the process cache of them.
//
// Cache key: fingerprint of the canonical Kernel IR (symbols renamed) + target identity + tier.
// Sizes that agree on the answers which lowering asked for share code, because only the answers
// stand in the text.
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "runtime/kernel_abi.h"

namespace lathe::rt {

class Artefact {
 public:
  virtual ~Artefact() = default;  // frees the machine code
  KernelFn fn = nullptr;
  std::string name, key;
  int64_t code_bytes = 0;
  double compile_seconds = 0;
  std::vector<std::string> failures;  // texts of the kernel's fail sites
};

struct CacheCounters {
  int64_t hits = 0, misses = 0, evictions = 0, bytes = 0, entries = 0;
};

// Bounded by bytes of code; least recently used artefacts that no version holds go first (a version
// holds a shared_ptr, so code in use is never freed).
class ArtefactCache {
 public:
  explicit ArtefactCache(int64_t max_bytes) : max_bytes_(max_bytes) {}
  // The cached artefact, or what `make` builds; one build a key at a time, others wait for it.
  absl::StatusOr<std::shared_ptr<Artefact>> GetOrMake(
      const std::string& key,
      const std::function<absl::StatusOr<std::shared_ptr<Artefact>>()>& make);
  CacheCounters counters() const;

 private:
  struct Entry {
    std::shared_ptr<Artefact> artefact;  // null while being made
    int64_t last_use = 0;
  };
  void EvictLocked();         // mutex_ held
  mutable std::mutex mutex_;  // guards all below
  std::condition_variable made_;
  int64_t max_bytes_, clock_ = 0;
  CacheCounters counters_;
  absl::flat_hash_map<std::string, Entry> entries_;
};

// True on a thread that is inside a call; compilers count compiles made there.
class InCallScope {
 public:
  InCallScope() { ++depth; }
  ~InCallScope() { --depth; }
  static bool Active() { return depth > 0; }

 private:
  static constinit thread_local int depth;  // read without a wrapper
};

}  // namespace lathe::rt
