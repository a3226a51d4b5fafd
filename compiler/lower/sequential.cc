// Ops that walk elements in an order of their own: scatter, cumsum, cumprod. Plain loops; argsort
// has a file of its own.
#include "codegen/kernel/builder.h"
#include "compiler/lower/lower.h"
#include "compiler/lower/scope.h"
#include "compiler/lower/space.h"

namespace lathe::compiler {
namespace {

using ir::Node;
using ir::Op;
using kernel::KernelBuilder;
using kernel::KOp;
using kernel::Reg;

constexpr int kLanes = 32;

KOp Combining(const std::string& reduction) {
  if (reduction == "add") return KOp::kAdd;
  if (reduction == "mul") return KOp::kMul;
  return reduction == "max" ? KOp::kMax : KOp::kMin;
}

// One task: the data copied, then one update after another.
LoweredKernel LowerScatter(const LowerContext& c, const Group& group) {
  const Node& n = c.graph.node(group.anchor);
  const Dim graph_count = c.graph.type(n.operands[1]).shape[0], graph_size = n.type.shape[0];
  KernelScope scope(c, "scatter");
  KernelBuilder& b = scope.b();
  const Dim size = scope.Param("n", graph_size), count = scope.Param("n", graph_count);
  const int data = scope.FlatInput(n.operands[0]), indices = scope.FlatInput(n.operands[1]);
  const int updates = scope.FlatInput(n.operands[2]), out = scope.Output(group.anchor);
  b.For("j", 0, size, kLanes, [&](Dim j) {
    const Reg mask = b.Mask(size - j, kLanes);
    b.Store(out, j, b.Load(data, j, kLanes, 1, mask), 1, mask);
  });
  b.For("i", 0, count, 1, [&](Dim i) {
    const Reg index = b.Load(indices, i);
    const Reg inside = b.Bin(KOp::kAnd, b.Bin(KOp::kGe, index, b.Int({i64, 1}, 0)),
                             b.Bin(KOp::kLt, index, b.Index(size)));
    b.If(inside, [&] {
      const Dim at = b.Bind("at", index);
      Reg update = b.Load(updates, i);
      if (!n.attrs.reduction.empty())
        update = b.Bin(Combining(n.attrs.reduction), b.Load(out, at), update);
      b.Store(out, at, update);
    });
  });
  return scope.Finish(1, 1, Work(graph_size, 0.15) + Work(graph_count, 2),
                      "one task, updates in order");
}

// Lines along the axis, 32 neighbouring ones together where other axes follow it; a line in order.
LoweredKernel LowerPrefix(const LowerContext& c, const Group& group) {
  const Node& n = c.graph.node(group.anchor);
  const Shape& shape = n.type.shape;
  const int64_t axis = *n.attrs.axis;
  const bool product = n.op == Op::k_cumprod;
  const Dim graph_outer = Volume(Shape(shape.begin(), shape.begin() + axis));
  const Dim graph_inner = Volume(Shape(shape.begin() + axis + 1, shape.end()));
  KernelScope scope(c, std::string(ir::Name(n.op)));
  KernelBuilder& b = scope.b();
  const Dim outer = scope.Param("outer", graph_outer), inner = scope.Param("inner", graph_inner);
  const Dim length = scope.Param("n", shape[static_cast<size_t>(axis)]);
  const int in = scope.FlatInput(n.operands[0]), out = scope.Output(group.anchor);
  const int lanes = inner == Dim(1) ? 1 : kLanes;
  const Dim blocks = Max(CeilDiv(inner, lanes), 1);
  const Dim row = FloorDiv(b.task(), blocks), first = Mod(b.task(), blocks) * lanes;
  const Reg mask = lanes == 1 ? kernel::kNoReg : b.Mask(inner - first, lanes);
  const kernel::KType type{n.type.dtype, lanes};
  // -0 so that the first sum is the first element itself.
  const Reg start = product                                     ? b.Int(type, 1)
                    : IsFloat(type.dtype) && !n.attrs.exclusive ? b.Float(type, -0.0)
                                                                : b.Int(type, 0);
  const int sum = b.Var(start);
  b.For("k", 0, length, 1, [&](Dim k) {
    const Dim line = row * length + (n.attrs.reverse ? length - 1 - k : k);
    const Dim at = line * inner + first;
    const Reg before = b.Get(sum);
    const Reg after =
        b.Bin(product ? KOp::kMul : KOp::kAdd, before, b.Load(in, at, lanes, 1, mask));
    b.Store(out, at, n.attrs.exclusive ? before : after, 1, mask);
    b.Set(sum, after);
  });
  const Dim graph_blocks = Max(CeilDiv(graph_inner, lanes), 1);
  return scope.Finish(graph_outer * graph_blocks, outer * blocks, Work(Volume(shape), 1),
                      lanes == 1 ? "a line a task" : "32 lines a task");
}

}  // namespace

LoweredKernel LowerSequential(const LowerContext& c, const Group& group) {
  switch (c.graph.node(group.anchor).op) {
    case Op::k_scatter:
      return LowerScatter(c, group);
    case Op::k_argsort:
      return LowerArgsort(c, group);
    default:
      return LowerPrefix(c, group);
  }
}

}  // namespace lathe::compiler
