#pragma once
// Why a call with given sizes runs as it does, for people.
#include <string>

#include "absl/status/statusor.h"
#include "runtime/function_state.h"

namespace lathe::rt {

// Sizes and where they come from; the version that serves them with its guard; why each other
// version doesn't; the version's groups with kernels and schedules; bytes.
absl::StatusOr<std::string> Explain(const FunctionState& function, const Sizes& sizes);

}  // namespace lathe::rt
