#pragma once
// The memory of a call, reused by the next: one thread at a time. Holds the version table that it
// last used, so a table that is replaced meanwhile stays alive.
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "runtime/allocator.h"
#include "runtime/run_plan.h"

namespace lathe::rt {

// A block of the engine's allocator that only grows.
struct Block {
  std::shared_ptr<void> owner;
  char* data = nullptr;
  int64_t bytes = 0;
  // At least `wanted` bytes. The old block goes first, so that the two never count together.
  absl::Status Grow(int64_t wanted, Allocator& allocator);
  // Writes to every page, so that no call is the first to do it.
  void Touch() const;
};

struct AddressRange {
  const char* begin = nullptr;  // both null for a tensor without elements
  const char* end = nullptr;
};
inline bool Overlap(const AddressRange& a, const AddressRange& b) {
  return (a.begin < b.end) & (b.begin < a.end);
}

class ContextState {
 public:
  // Takes `next` as the table to use and makes all arrays big enough for it.
  void Use(std::shared_ptr<const Published> next, const EntryPlan& entry, int workers);

  const RunPlan& plan() const { return (*published->plans)[static_cast<size_t>(version)]; }

  std::shared_ptr<const Published> published;
  int version = -1;       // the one picked for the sizes in `slots`
  bool resolved = false;  // table_slots and slots hold what belongs to the symbols in table_slots
  bool placed = false;    // pointers of arena values fit slots and the arena
  std::vector<int64_t> bound;               // symbols of this call
  std::vector<int64_t> table_slots, slots;  // of the table's and the version's dim program
  std::vector<int64_t> derive_slots;
  std::vector<int64_t> sizes;        // of all kernels
  std::vector<void*> pointers;       // see RunPlan
  std::vector<void*> arguments;      // of one kernel
  std::vector<AddressRange> ranges;  // of the inputs as given
  Block arena, packed;
  std::shared_ptr<void> staged;   // of a function in stages: its StagedContext, none of the above
  int64_t poison_peak_bytes = 0;  // poison mode: most bytes live at a time, by the last call
};

}  // namespace lathe::rt
