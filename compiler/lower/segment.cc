// Ops on rows of a ragged dim. Row i of the packed operand lies at offsets[i]..offsets[i + 1]; the
// entry of the call has checked the offsets, so every index that comes from them is inside.
//
// Where other axes follow, a reduction is a plain loop over the row for each vector of the last
// axis, in order; a packed operand of rank 1 is a contiguous row, reduced by 32 partials from its
// start, as any other.
#include "compiler/lower/emit.h"
#include "compiler/lower/lower.h"
#include "compiler/lower/reduce.h"
#include "compiler/lower/space.h"

namespace lathe::compiler {
namespace {

using ir::Node;
using ir::Op;
using ir::ValueId;
using kernel::KernelBuilder;
using kernel::KOp;
using kernel::Reg;

constexpr int kLanes = 32;

// The ordinary reduction with the same answer.
Op PlainOp(Op op) { return op == Op::k_segment_sum ? Op::k_sum : Op::k_max; }

// A node of the ordinary reduction, for what only looks at op and attributes.
Node PlainNode(const Node& n) {
  Node plain{.op = PlainOp(n.op)};
  plain.attrs.value = n.attrs.value;
  return plain;
}

struct Row {
  Dim begin, end;
};

Row BindRow(KernelScope& scope, ValueId offsets, Dim row) {
  KernelBuilder& b = scope.b();
  const int buffer = scope.Input(offsets);
  const Reg begin = b.Cast(b.Load(buffer, row), i64);
  const Reg end = b.Cast(b.Load(buffer, row + 1), i64);
  return {b.Bind("begin", begin), b.Bind("end", end)};
}

// A task a row: its number at each of its positions, or the reduction of a contiguous row.
LoweredKernel LowerRows(const LowerContext& c, const Group& group) {
  const Node& n = c.graph.node(group.anchor);
  const bool numbers = n.op == Op::k_segment_ids;
  const ValueId offsets = n.operands.back();
  KernelScope scope(c, std::string(ir::Name(n.op)));
  KernelBuilder& b = scope.b();
  const Dim graph_rows = c.graph.type(offsets).shape[0] - 1;
  const Dim rows = scope.Param("rows", graph_rows);
  const int out = scope.Output(group.anchor);
  const int in = numbers ? -1 : scope.Input(n.operands[0]);
  const Row row = BindRow(scope, offsets, b.task());
  const Reg id = b.Index(b.task());
  int partial = -1;
  const Op plain = PlainOp(n.op);
  if (!numbers) partial = b.Var(ReductionIdentity(b, plain, {n.type.dtype, kLanes}));
  b.For("i", row.begin, row.end, kLanes, [&](Dim i) {
    // `i` advances with the row, so lane k is element k modulo 32 of the row.
    const Reg mask = b.Mask(row.end - i, kLanes);
    if (numbers) {
      b.Store(out, i, b.Splat(id, kLanes), 1, mask);
      return;
    }
    const Reg x = b.Load(in, i, kLanes, 1, mask, ReductionIdentityBits(plain, n.type.dtype));
    b.Set(partial, b.Bin(ReductionOp(plain), b.Get(partial), x));
  });
  if (!numbers) {
    const Reg result = b.Reduce(LaneReductionOp(plain), b.Get(partial));
    b.Store(out, b.task(), FinishReduction(b, PlainNode(n), result, row.end - row.begin));
  }
  const Dim elements = numbers ? n.type.shape[0] : c.graph.type(n.operands[0]).shape[0];
  return scope.Finish(graph_rows, rows, Work(elements + graph_rows, 0.3), "a row a task, 32 lanes");
}

}  // namespace

Reg ElementEmitter::EmitSegmentReduction(const Node& n, const Coords& coords) {
  const Op plain = PlainOp(n.op);
  const Row row = BindRow(scope_, n.operands[1], coords[0]);
  const int acc =
      b().Var(ReductionIdentity(b(), plain, {n.type.dtype, Varies(coords) ? axis_.lanes : 1}));
  Coords at = coords;
  b().For("i", row.begin, row.end, 1, [&](Dim i) {
    Open();
    at[0] = i;
    b().Set(acc, b().Bin(ReductionOp(plain), b().Get(acc), Emit(n.operands[0], at)));
    Close();
  });
  return FinishReduction(b(), PlainNode(n), b().Get(acc), row.end - row.begin);
}

Reg ElementEmitter::EmitToPadded(const Node& n, const Coords& coords) {
  const Row row = BindRow(scope_, n.operands[1], coords[0]);
  Coords at(coords.begin() + 1, coords.end());
  at[0] = row.begin + coords[1];
  const Reg inside = Compare(KOp::kLt, at[0], row.end);
  const Reg r = EmitWhere(inside, n.operands[0], at);
  const double fill = n.attrs.value.value_or(0);
  return b().Select(inside, r, b().Float({n.type.dtype, 1}, fill));
}

LoweredKernel LowerSegment(const LowerContext& c, const Group& group) {
  const Node& n = c.graph.node(group.anchor);
  const bool by_rows = n.op == Op::k_segment_ids || n.type.rank() == 1;
  return by_rows ? LowerRows(c, group) : LowerPointwise(c, group);
}

}  // namespace lathe::compiler
