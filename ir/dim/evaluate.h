#pragma once
// Evaluation without building texts: what the prover calls thousands of times. Internal to ir/dim.
#include <cstdint>

#include "absl/types/span.h"
#include "ir/dim/context.h"

namespace lathe::dim {

enum class Truth : uint8_t { kFalse, kTrue, kUndefined };

// False if a step overflows, divides by 0, or lacks a value.
bool TryEvaluate(Dim d, absl::Span<const int64_t> values, int64_t* out);
Truth TryEvaluate(const Claim& c, absl::Span<const int64_t> values);

}  // namespace lathe::dim
