#pragma once
// The reference interpreter: slow, obvious, right. Each op rounds its result to its type, with
// float64 only inside a sum. Compiled code stays within the op's bound of it; nothing compiled ever
// calls it.
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/graph.h"

namespace lathe::ir {

struct InterpretOptions {
  bool in_f64 = false;      // every f32 value is held as f64: the yardstick for error bounds
  bool check_facts = true;  // declared and required claims are checked first
  int64_t max_bytes = int64_t{8} << 30;  // of one value; more is ResourceExhausted
};

// Outputs in order. With in_f64, f32 outputs come back as f64.
absl::StatusOr<std::vector<Tensor>> Interpret(const Graph& graph, absl::Span<const Tensor> inputs,
                                              const InterpretOptions& options = {});

// Values for every symbol of the graph (by SymbolId) from the inputs' shapes; checks dtypes, ranks,
// static dims and consistency. Solves `2*a`-like dims. Errors name the input, axis, found, wanted.
absl::StatusOr<std::vector<int64_t>> BindSymbols(const Graph& graph,
                                                 absl::Span<const Tensor> inputs);

// The declared and required facts at these sizes. The error names the claim, its source, the values
// of its sides (of a divisibility: the remainder), and which argument gave each symbol.
absl::Status CheckFacts(const Graph& graph, absl::Span<const int64_t> symbols);

}  // namespace lathe::ir
