#pragma once
// Questions about a program in stages that are answered without running it: shapes, memory, and
// why it runs as it does. Sizes that only data give are bounded by the facts about them; a size
// that has no bound is named in the error, and may be given among the sizes.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/staged_state.h"

namespace lathe::rt {

// FailedPrecondition if an extent depends on a size, or on steps, that aren't given.
absl::StatusOr<std::vector<std::vector<int64_t>>> OutputShapes(const StagedState& state,
                                                               const Sizes& sizes);
// An upper bound: the values of slots that live together, and the arena of the stage that needs
// most.
absl::StatusOr<int64_t> PeakBytes(const StagedState& state, const Sizes& sizes);
absl::StatusOr<int64_t> Largest(const StagedState& state, const std::string& symbol,
                                const Sizes& others, int64_t bytes);
// No where the bound over all sizes that the facts admit is within `bytes`, else unknown: a bound
// says nothing of what a call does need.
absl::StatusOr<MemoryAnswer> CouldExceed(const StagedState& state, int64_t bytes);
// Makes the arena big enough for any stage and touches its pages.
absl::Status Reserve(const StagedState& state, ContextState& context, const Sizes& sizes);
// Stage by stage: what Explain says of graphs whose sizes are known, otherwise which are open.
absl::StatusOr<std::string> ExplainText(const StagedState& state, const Sizes& sizes);
absl::StatusOr<std::string> ExplainJson(const StagedState& state, const Sizes& sizes);

}  // namespace lathe::rt
