#pragma once
// Runs a program in stages: the loop over its steps, and over those of its bodies.
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/staged_state.h"

namespace lathe::rt {

struct StagedContext {
  struct Worker {  // of one function
    ContextState context;
    const char* placed_in = nullptr;  // the arena that the context's pointers are of
  };
  std::shared_ptr<const char> owner;  // whose context it is
  ContextState entry;
  std::vector<Worker> workers;  // one a function
  Block arena;                  // of whichever runs
  // The slots of each code. No body runs inside itself, so one frame each is enough.
  std::vector<std::vector<std::optional<Tensor>>> frames;
};

// The program's outputs for inputs that were checked, contiguous ones.
absl::StatusOr<std::vector<Tensor>> RunStages(const StagedState& state, StagedContext& context,
                                              std::vector<Tensor> inputs);

// A block of the engine's allocator for `bytes`, within max_arena_bytes.
absl::StatusOr<std::shared_ptr<void>> AllocateValue(EngineState& engine, int64_t bytes);

}  // namespace lathe::rt
