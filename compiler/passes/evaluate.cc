#include "compiler/passes/evaluate.h"

#include <utility>

#include "ir/attr_text.h"
#include "ir/evaluate.h"

namespace lathe::compiler {

std::optional<Tensor> EvaluateNode(const ir::Graph& graph, const ir::Node& n,
                                   const std::vector<Tensor>& operands) {
  if (ir::Info(n.op).evaluate == nullptr) return std::nullopt;
  ir::EvalContext c{.graph = &graph,
                    .node = &n,
                    .operands = operands,
                    .symbols = {},
                    .result_shape = {},
                    .result_dtype = n.type.dtype};
  for (Dim d : n.type.shape) c.result_shape.push_back(d.constant());
  absl::StatusOr<Tensor> result = ir::EvaluateOp(c);
  if (!result.ok() || !result->ok()) return std::nullopt;
  return *std::move(result);
}

bool HasConstantDims(const ir::Node& n) {
  bool constant = true;
  const auto look = [&](Dim d) { constant = constant && d.is_constant(); };
  for (Dim d : n.type.shape) look(d);
  ir::ForEachDim(n.attrs, look);
  return constant;
}

}  // namespace lathe::compiler
