#pragma once
// The memory of a program in stages, bounded without running it: a walk over its stages that keeps
// for each slot the most bytes that its value may have.
#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/staged_bounds.h"
#include "runtime/staged_state.h"

namespace lathe::rt {

struct StagedPeak {
  int64_t arena = 0;   // of the stage that needs most
  int64_t values = 0;  // most bytes of slots, scanned outputs and outputs at a time
};

// For sizes in the ranges of `sizes`. FailedPrecondition before prepare, and for a size or a number
// of steps without a bound, which it names. No version is built meanwhile.
absl::StatusOr<StagedPeak> PeakOf(const StagedState& state, const KnownSizes& sizes);

// The value that a graph's result has whatever the data, at most: a constant, or a size. `exactly`:
// no other value either.
std::optional<int64_t> ScalarOf(const ir::Graph& graph, ir::ValueId result, const KnownSizes& sizes,
                                bool exactly = false);

}  // namespace lathe::rt
