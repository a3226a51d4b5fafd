#pragma once
// Questions about a program in stages that are answered without running it: shapes, memory, and
// why it runs as it does. Sizes that only data give are bounded by the facts about them; a symbol
// that has no bound is named in the error, and may be given among the sizes.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/staged_state.h"

namespace lathe::rt {

// Of outputs whose extents the sizes given determine; FailedPrecondition names the other ones.
absl::StatusOr<std::vector<std::vector<int64_t>>> OutputShapes(const StagedState& state,
                                                               const Sizes& sizes);
absl::StatusOr<int64_t> PeakBytes(const StagedState& state, const Sizes& sizes);
absl::StatusOr<int64_t> Largest(const StagedState& state, const std::string& symbol,
                                const Sizes& others, int64_t bytes);
absl::StatusOr<MemoryAnswer> CouldExceed(const StagedState& state, int64_t bytes);
absl::StatusOr<std::string> ExplainText(const StagedState& state, const Sizes& sizes);
absl::StatusOr<std::string> ExplainJson(const StagedState& state, const Sizes& sizes);
absl::Status Reserve(const StagedState& state, ContextState& context, const Sizes& sizes);

}  // namespace lathe::rt
