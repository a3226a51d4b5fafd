#include "runtime/context_state.h"

#include <algorithm>

namespace lathe::rt {

absl::Status Block::Grow(int64_t wanted, Allocator& allocator) {
  if (wanted <= bytes) return absl::OkStatus();
  owner.reset();
  data = nullptr;
  bytes = 0;
  absl::StatusOr<std::shared_ptr<void>> block = allocator.Allocate(wanted);
  if (!block.ok()) return block.status();
  owner = *std::move(block);
  data = static_cast<char*>(owner.get());
  bytes = wanted;
  return absl::OkStatus();
}

void Block::Touch() const {
  constexpr int64_t kPage = 4096;
  for (int64_t at = 0; at < bytes; at += kPage) *static_cast<volatile char*>(data + at) = 0;
}

void ContextState::Use(std::shared_ptr<const Published> next, const EntryPlan& entry, int workers) {
  published = std::move(next);
  version = -1;
  resolved = placed = false;
  const size_t symbols = entry.symbols.size();
  size_t num_slots = symbols + 1, num_sizes = 0, num_pointers = 0, num_arguments = 0,
         num_derive = 0;
  for (const RunPlan& plan : *published->plans) {
    num_slots = std::max(num_slots, static_cast<size_t>(plan.version->program.dims.num_slots()));
    num_sizes = std::max(num_sizes, plan.size_slots.size());
    num_pointers = std::max(num_pointers, static_cast<size_t>(plan.num_pointers));
    num_arguments = std::max(num_arguments, static_cast<size_t>(plan.max_buffers));
  }
  for (const EntryPlan::Derived& d : entry.derived) {
    num_derive = std::max(num_derive, static_cast<size_t>(d.rest.num_slots()));
  }
  bound.assign(symbols, 0);
  table_slots.assign(static_cast<size_t>(published->table->program().num_slots()), 0);
  slots.assign(num_slots, 0);
  slots[symbols] = workers;
  derive_slots.assign(num_derive, 0);
  sizes.assign(num_sizes, 0);
  pointers.assign(num_pointers, nullptr);
  arguments.assign(num_arguments, nullptr);
  ranges.assign(entry.inputs.size(), {});
  for (size_t s = 0; s < symbols; ++s) bound[s] = entry.bind[s].offset;  // of those without an axis
}

}  // namespace lathe::rt
