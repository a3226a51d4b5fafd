#pragma once
// Sizes that would have been admitted: what errors of calls offer in place of a size that wasn't.
#include <cstdint>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "lathe/dim.h"

namespace lathe::ir {

// The value nearest to `found` for which `passes` holds, the larger of two; among the 4,096 on
// either side, the constants that bound `size` in `claims`, and found / 2, found / 4, ... 0, which
// admits most and helps least, only if nothing else does.
std::optional<int64_t> NearestPassing(int64_t found, Dim size, absl::Span<const Claim> claims,
                                      absl::FunctionRef<bool(int64_t)> passes);

}  // namespace lathe::ir
