#pragma once
// What the tests of the whole compiler share: compile a graph, run it as machine code and by the
// Kernel IR evaluator, and compare with the interpreter.
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "ir/graph.h"
#include "lathe/lathe.h"
#include "tests/whole/op_bound.h"

namespace lathe::whole {

// A function of `graph` (copied), prepared.
absl::StatusOr<Function> CompileGraph(Engine& engine, const ir::Graph& graph,
                                      CompileOptions options = {});

// Runs the steps of a version's host program with every kernel, read back from its text, in the
// evaluator; every arena value in a block of its own, so that bounds are checked.
absl::StatusOr<std::vector<Tensor>> RunByEvaluator(const Function& function,
                                                   absl::Span<const Tensor> inputs,
                                                   const std::string& version = "generic");

// OK if the evaluator gives the bits of `found` for these inputs.
absl::Status SameAsEvaluator(const Function& function, absl::Span<const Tensor> inputs,
                             absl::Span<const Tensor> found,
                             const std::string& version = "generic");

// Compiled code against the interpreter, each output by `within` (tests/whole/op_bound.h), and
// against the evaluator bit for bit. If the interpreter refuses the inputs, so must the function,
// with the same code; neither may fault.
using Within = absl::FunctionRef<absl::Status(const Tensor& found, const Tensor& wanted,
                                              const Tensor& wanted64)>;
absl::Status CheckCall(const Function& function, const ir::Graph& graph,
                       absl::Span<const Tensor> inputs, Within within, bool with_evaluator);
// By WithinBound.
absl::Status CheckCall(const Function& function, const ir::Graph& graph,
                       absl::Span<const Tensor> inputs, bool exact, bool with_evaluator);

}  // namespace lathe::whole
