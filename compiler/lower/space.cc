#include "compiler/lower/space.h"

#include <algorithm>

namespace lathe::compiler {

using ir::Emission;
using ir::Node;
using ir::Op;
using ir::ValueId;

namespace {

bool Contains(const std::vector<ValueId>& values, ValueId v) {
  return std::find(values.begin(), values.end(), v) != values.end();
}

void Restrict(const LowerContext& c, const Shape& shape, ValueId v, std::vector<bool>* merge) {
  const Node& n = c.graph.node(v);
  if (n.type.shape.empty()) return;  // a scalar has no axes
  const bool full = n.type.shape == shape;
  if (full && ir::Info(n.op).emission == Emission::kElementwise) return;
  if (full && n.op == Op::k_random) return;  // looks at the flat position only
  if (full && n.op == Op::k_reshape && c.plan.IsBuffer(n.operands[0])) return;
  const ValueId o = n.operands.empty() ? v : n.operands[0];
  const bool ends = c.plan.IsBuffer(o) || c.graph.type(o).shape.empty();
  if (!full || n.op != Op::k_broadcast || !ends) {
    std::fill(merge->begin(), merge->end(), false);
    return;
  }
  enum Has { kNot, kWhole, kAtRunTime };
  std::vector<Has> has(shape.size(), kNot);
  for (size_t i = 0; i < n.attrs.axes.size(); ++i) {
    const Dim from = c.graph.type(o).shape[i], to = shape[n.attrs.axes[i]];
    has[n.attrs.axes[i]] = from == to ? kWhole : from == Dim(1) ? kNot : kAtRunTime;
  }
  for (size_t i = 0; i < merge->size(); ++i)
    if (has[i] != has[i + 1] || has[i] == kAtRunTime) (*merge)[i] = false;
}

double OpCost(Op op) {
  switch (op) {
    case Op::k_exp:
    case Op::k_log:
    case Op::k_exp2:
    case Op::k_log2:
    case Op::k_sigmoid:
    case Op::k_silu:
    case Op::k_random:
      return 0.6;
    case Op::k_tanh:
    case Op::k_erf:
    case Op::k_gelu:
    case Op::k_sin:
    case Op::k_cos:
    case Op::k_expm1:
    case Op::k_log1p:
      return 0.9;
    case Op::k_tan:
    case Op::k_asin:
    case Op::k_acos:
    case Op::k_atan:
    case Op::k_atan2:
    case Op::k_sinh:
    case Op::k_cosh:
    case Op::k_asinh:
    case Op::k_acosh:
    case Op::k_atanh:
    case Op::k_pow:
      return 3;
    case Op::k_div:
    case Op::k_sqrt:
    case Op::k_rsqrt:
    case Op::k_rem:
    case Op::k_mod:
    case Op::k_floordiv:
    case Op::k_gather:
      return 0.4;
    default:
      return 0.05;
  }
}

}  // namespace

std::vector<ValueId> ComputedInside(const LowerContext& c, std::vector<ValueId> roots) {
  for (size_t i = 0; i < roots.size(); ++i)
    for (ValueId o : c.graph.node(roots[i]).operands)
      if (!c.plan.IsBuffer(o) && !Contains(roots, o)) roots.push_back(o);
  return roots;
}

std::vector<bool> MergeableAxes(const LowerContext& c, const Shape& shape,
                                const std::vector<ValueId>& inside,
                                const std::vector<ValueId>& free) {
  std::vector<bool> merge(shape.size() > 1 ? shape.size() - 1 : 0, true);
  for (ValueId v : inside)
    if (!Contains(free, v)) Restrict(c, shape, v, &merge);
  return merge;
}

Dim RunExtent(const Shape& shape, const AxisRun& run) {
  Dim extent = 1;
  for (size_t axis : run) extent = extent * shape[axis];
  return extent;
}

void SetRun(const AxisRun& run, Dim at, Coords* coords) {
  for (size_t axis : run) (*coords)[axis] = 0;
  if (!run.empty()) (*coords)[run.back()] = at;
}

Dim Work(Dim elements, double ns_per_element) {
  return FloorDiv(elements * (1 + static_cast<int64_t>(ns_per_element * 64)), 64);
}

double ElementCost(const ir::Graph& graph, const std::vector<ValueId>& members) {
  double cost = 0.15;  // the memory traffic of a result element
  for (ValueId v : members) cost += OpCost(graph.node(v).op);
  return cost;
}

}  // namespace lathe::compiler
