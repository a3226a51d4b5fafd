#pragma once
// Runs the steps of a resolved and placed context: the small loop over a host program.
#include "absl/status/status.h"
#include "runtime/context_state.h"
#include "runtime/engine_state.h"

namespace lathe::rt {

// A kernel goes to several threads if its estimate on one core, in ns, is above this.
inline constexpr int64_t kParallelWork = 8000;

// OutOfRange if a kernel fails on data, with the kernel's own text, position, value and bound.
absl::Status RunSteps(ThreadPool& pool, ContextState& context);

// The same with each arena value in a block of its own: filled with 0xff (NaN) from its first step,
// canaries around it checked and the block freed after its last. Internal if a kernel wrote
// outside. Outputs are filled as well. Records the most bytes live at a time.
absl::Status RunStepsPoisoned(EngineState& engine, ContextState& context);

// The status of the failed kernel `index`.
absl::Status KernelFailed(const Version& version, size_t index, const KernelError& error);

}  // namespace lathe::rt
