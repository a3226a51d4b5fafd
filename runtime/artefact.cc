#include "runtime/artefact.h"

#include <algorithm>
#include <utility>

namespace lathe::rt {

constinit thread_local int InCallScope::depth = 0;

absl::StatusOr<std::shared_ptr<Artefact>> ArtefactCache::GetOrMake(
    const std::string& key,
    const std::function<absl::StatusOr<std::shared_ptr<Artefact>>()>& make) {
  {
    std::unique_lock lock(mutex_);
    while (true) {
      auto it = entries_.find(key);
      if (it == entries_.end()) break;
      if (it->second.artefact != nullptr) {
        ++counters_.hits;
        it->second.last_use = ++clock_;
        return it->second.artefact;
      }
      made_.wait(lock);
    }
    ++counters_.misses;
    entries_[key];  // marks the key as being made
  }
  absl::StatusOr<std::shared_ptr<Artefact>> made = make();
  std::unique_lock lock(mutex_);
  if (made.ok()) {
    Entry& entry = entries_[key];
    entry.artefact = *made;
    entry.last_use = ++clock_;
    counters_.bytes += (*made)->code_bytes;
    ++counters_.entries;
    EvictLocked();
  } else {
    entries_.erase(key);  // the next one who asks tries again
  }
  made_.notify_all();
  return made;
}

CacheCounters ArtefactCache::counters() const {
  std::unique_lock lock(mutex_);
  return counters_;
}

// An artefact of which the cache holds the only reference is in no version. Nobody can take a new
// one meanwhile: that needs the lock.
void ArtefactCache::EvictLocked() {
  if (counters_.bytes <= max_bytes_) return;
  std::vector<std::pair<int64_t, std::string>> idle;
  for (const auto& [key, entry] : entries_) {
    if (entry.artefact.use_count() == 1) idle.emplace_back(entry.last_use, key);
  }
  std::sort(idle.begin(), idle.end());
  for (const auto& [last_use, key] : idle) {
    if (counters_.bytes <= max_bytes_) break;
    auto it = entries_.find(key);
    counters_.bytes -= it->second.artefact->code_bytes;
    --counters_.entries;
    ++counters_.evictions;
    entries_.erase(it);
  }
}

}  // namespace lathe::rt
