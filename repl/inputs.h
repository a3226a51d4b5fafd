#pragma once
// Inputs that :run and :time make, from the counter-based generator ir/philox.h, so that any other
// program can make the same: element i of the session's input number k is that of stream
// seed + k * 2^32: floats normal, bools a fair coin, integers 0..7, or 0..r-1 where the program
// gathers from an axis of r < 8 elements, so that they serve as indices.
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "lathe/tensor.h"
#include "repl/functions.h"

namespace lathe::repl {

// In call order. `symbols` by SymbolId of the function. ResourceExhausted beyond `max_bytes`.
absl::StatusOr<std::vector<Tensor>> MakeInputs(const ir::Graph& session,
                                               const CompiledValue& compiled,
                                               const std::vector<int64_t>& symbols, uint64_t seed,
                                               int64_t max_bytes);

}  // namespace lathe::repl
