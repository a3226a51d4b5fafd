#include "compiler/passes/evaluate.h"

#include <algorithm>
#include <utility>

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
  const auto constant = [](const std::vector<Dim>& dims) {
    return std::all_of(dims.begin(), dims.end(), [](Dim d) { return d.is_constant(); });
  };
  const ir::Attrs& a = n.attrs;
  return constant(n.type.shape) && (!a.shape || constant(*a.shape)) && constant(a.starts) &&
         constant(a.limits) && constant(a.low) && constant(a.high) && constant(a.sizes) &&
         (!a.dim || a.dim->is_constant());
}

}  // namespace lathe::compiler
