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

// Bytes of all inputs at these sizes, by SymbolId of the function; OutOfRange if they pass 64 bits.
absl::StatusOr<int64_t> InputBytes(const CompiledValue& compiled,
                                   const std::vector<int64_t>& symbols);

// In call order.
absl::StatusOr<std::vector<Tensor>> MakeInputs(const ir::Graph& session,
                                               const CompiledValue& compiled,
                                               const std::vector<int64_t>& symbols, uint64_t seed);

}  // namespace lathe::repl
