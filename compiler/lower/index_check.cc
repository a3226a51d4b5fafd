// The indices of a gather whose result may be empty for another reason than having no index: an op
// that must raise is never dropped because its result is empty.
#include "compiler/lower/emit.h"
#include "compiler/lower/lower.h"
#include "compiler/lower/space.h"

namespace lathe::compiler {

using ir::Node;
using ir::ValueId;
using kernel::KOp;
using kernel::Reg;

LoweredKernel LowerIndexCheck(const LowerContext& c, const Group& group) {
  const Node& n = c.graph.node(group.anchor);
  const ValueId indices = n.operands[1];
  const Dim graph_count = Volume(c.graph.type(indices).shape);
  KernelScope scope(c, "index_check");
  kernel::KernelBuilder& b = scope.b();
  const Dim count = scope.Param("n", graph_count);
  const Dim extent =
      scope.Param("n", c.graph.type(n.operands[0]).shape[static_cast<size_t>(*n.attrs.axis)]);
  const Reg index = b.Cast(b.Load(scope.Input(indices), b.task()), i64);
  const Reg low = b.Bin(KOp::kLt, index, b.Index(Dim(0) - extent));
  const Reg high = b.Bin(KOp::kGe, index, b.Index(extent));
  b.If(b.Bin(KOp::kOr, low, high),
       [&] { b.Fail("gather: index out of range", index, b.task(), extent); });
  return scope.Finish(graph_count, count, Work(graph_count, 1), "one index a task");
}

}  // namespace lathe::compiler
