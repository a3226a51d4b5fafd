#pragma once
// Evaluation of one node while compiling, by the reference evaluator of its op.
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace lathe::compiler {

// The node's value for these operands; nothing if its op has no evaluator or the evaluation fails.
// Its type and attributes hold constant dims only.
std::optional<Tensor> EvaluateNode(const ir::Graph& graph, const ir::Node& n,
                                   const std::vector<Tensor>& operands);

// Whether type and attributes hold constant dims only, as EvaluateNode wants it.
bool HasConstantDims(const ir::Node& n);

}  // namespace lathe::compiler
