#include "compiler/passes/evaluate.h"

#include <utility>

namespace lathe::compiler {

std::optional<Tensor> EvaluateNode(const ir::Graph& graph, const ir::Node& n,
                                   const std::vector<Tensor>& operands) {
  const auto evaluate = ir::Info(n.op).evaluate;
  if (evaluate == nullptr) return std::nullopt;
  ir::EvalContext c{.graph = &graph,
                    .node = &n,
                    .operands = operands,
                    .symbols = {},
                    .result_shape = {},
                    .result_dtype = n.type.dtype};
  for (Dim d : n.type.shape) c.result_shape.push_back(d.constant());
  absl::StatusOr<Tensor> result = evaluate(c);
  if (!result.ok() || !result->ok()) return std::nullopt;
  return *std::move(result);
}

}  // namespace lathe::compiler
