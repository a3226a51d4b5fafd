#pragma once
// Could a call ever need more than an amount of memory? Asked of the prover, over all sizes that
// the declared facts admit.
#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/function_state.h"

namespace lathe::rt {

// FailedPrecondition before prepare.
absl::StatusOr<MemoryAnswer> CouldExceed(const FunctionState& function, int64_t bytes);

}  // namespace lathe::rt
