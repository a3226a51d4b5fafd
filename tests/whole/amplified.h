#pragma once
// Comparison of programs that amplify rounding, such as log(sigmoid(x)) or floor(exp(x)): how far
// an output may be from the interpreter's is measured by running the program with every result of
// an inexact op a few ULP away.
#include "absl/status/status.h"
#include "ir/graph.h"
#include "lathe/lathe.h"

namespace lathe::whole {

// The program with each inexact float result 4 ULP away, up or down by the bits of `pattern`: all
// elements of a result the same way, from pattern 5 on each its own.
ir::Graph Nudged(const ir::Graph& graph, uint64_t pattern);

// CheckCall, with 8 times the widest move of a few nudged runs as the bound of each element. What
// turns into another whole number, or leaves the finite ones, in one of them isn't compared.
absl::Status CheckAmplified(const Function& function, const ir::Graph& graph,
                            absl::Span<const Tensor> inputs, bool with_evaluator);

}  // namespace lathe::whole
