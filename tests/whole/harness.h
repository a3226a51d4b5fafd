#pragma once
// What the tests of the whole compiler share: compile a graph, run it as machine code and by the
// Kernel IR evaluator, and compare with the interpreter.
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/graph.h"
#include "lathe/lathe.h"

namespace lathe::whole {

// A function of `graph` (copied), prepared.
absl::StatusOr<Function> CompileGraph(Engine& engine, const ir::Graph& graph,
                                      CompileOptions options = {});

// Runs the steps of a version's host program with every kernel, read back from its text, in the
// evaluator; every arena value in a block of its own, so that bounds are checked.
absl::StatusOr<std::vector<Tensor>> RunByEvaluator(const Function& function,
                                                   absl::Span<const Tensor> inputs,
                                                   const std::string& version = "generic");

// OK if the evaluator gives the bits of `found` for these inputs, by the generic version.
absl::Status SameAsEvaluator(const Function& function, absl::Span<const Tensor> inputs,
                             absl::Span<const Tensor> found);

// Element i of a dense tensor as a number.
double At(const Tensor& t, int64_t i);

// OK if found is within an op's bound of wanted: equal bits where `exact`, otherwise
// |found - wanted| <= 8 |wanted - wanted64| + (relative 4e-6 of the largest magnitude beside it).
absl::Status WithinBound(const Tensor& found, const Tensor& wanted, const Tensor& wanted64,
                         bool exact);

// Compiled code against the interpreter, and against the evaluator bit for bit. If the interpreter
// refuses the inputs, so must the function.
absl::Status CheckCall(const Function& function, const ir::Graph& graph,
                       absl::Span<const Tensor> inputs, bool exact, bool with_evaluator);

}  // namespace lathe::whole
