#pragma once
// The engine's allocator: 64-byte aligned blocks, counted (live and high-water), so that predicted
// and measured bytes can be compared. Thread-safe.
#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"

namespace lathe::rt {

class Allocator {
 public:
  // A block of `bytes` (0 allowed); freed and uncounted when the last reference goes.
  // ResourceExhausted if the system refuses. Contents are unspecified. Blocks may outlive the
  // allocator.
  absl::StatusOr<std::shared_ptr<void>> Allocate(int64_t bytes);
  int64_t live_bytes() const { return counts_->live.load(); }
  int64_t peak_bytes() const { return counts_->peak.load(); }
  void ResetPeak() { counts_->peak.store(counts_->live.load()); }

 private:
  struct Counts {
    std::atomic<int64_t> live{0}, peak{0};
  };
  std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
};

}  // namespace lathe::rt
