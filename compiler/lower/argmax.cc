// argmax and argmin over the last axis: lanes keep their best element and its position, then one
// lane after another is compared. The first (or last) NaN wins, else the first (or last) extremum.
#include <limits>

#include "compiler/lower/emit.h"
#include "compiler/lower/lower.h"
#include "compiler/lower/reduce.h"
#include "compiler/lower/space.h"

namespace lathe::compiler {
namespace {

using ir::Node;
using ir::ValueId;
using kernel::KOp;
using kernel::Reg;

constexpr int kLanes = 32;
constexpr int64_t kNone = std::numeric_limits<int64_t>::max();  // a lane that has seen nothing

}  // namespace

LoweredKernel LowerArgExtremumRow(const LowerContext& c, const Group& group) {
  const Node& n = c.graph.node(group.anchor);
  const ValueId operand = n.operands[0];
  const Shape& shape = group.space;
  const DType dtype = c.graph.type(operand).dtype;
  KernelScope scope(c, std::string("row_") + std::string(ir::Name(n.op)));
  kernel::KernelBuilder& b = scope.b();

  Shape row_shape;
  for (size_t i = 0; i + 1 < shape.size(); ++i) row_shape.push_back(scope.Param("n", shape[i]));
  const Dim graph_rows = Volume(Shape(shape.begin(), shape.end() - 1));
  const Dim length = scope.Param("n", shape.back());
  const int out = scope.Output(group.anchor);
  const int values = scope.Scratch("values", dtype, kLanes, kLanes);
  const int places = scope.Scratch("places", i64, kLanes, kLanes);

  Coords coords = Delinearize(row_shape, b.task());
  coords.push_back(0);
  const int best = b.Var(ReductionIdentity(b, ExtremumOf(n.op), {dtype, kLanes}));
  const int place = b.Var(b.Int({i64, kLanes}, kNone));
  b.For("j", 0, length, kLanes, [&](Dim j) {
    dim::SymbolId symbol = 0;
    dim::IsSymbol(j, &symbol);
    const Reg mask = b.Mask(length - j, kLanes);
    ElementEmitter e(scope, VectorAxis{symbol, kLanes, mask, length - j});
    coords.back() = j;
    const Reg x = b.Splat(e.Emit(operand, coords), kLanes);
    const Reg old = b.Get(best), at = b.Get(place);
    Reg better =
        b.Bin(KOp::kOr, TakesPlace(b, n, x, old), b.Bin(KOp::kEq, at, b.Int({i64, 1}, kNone)));
    better = b.Bin(KOp::kAnd, better, mask);
    b.Set(best, b.Select(better, x, old));
    b.Set(place, b.Select(better, e.DimValue(j), at));
  });
  b.Store(values, 0, b.Get(best));
  b.Store(places, 0, b.Get(place));
  b.Barrier();
  const int row_best = b.Var(b.Load(values, 0)), row_place = b.Var(b.Load(places, 0));
  b.For("lane", 1, kLanes, 1, [&](Dim lane) {
    const Reg x = b.Load(values, lane), at = b.Load(places, lane);
    const Reg old = b.Get(row_best), old_at = b.Get(row_place);
    const Reg comes_first = b.Bin(n.attrs.last ? KOp::kGt : KOp::kLt, at, old_at);
    Reg better = b.Bin(KOp::kAnd, IsEqual(b, x, old), comes_first);
    better = b.Bin(KOp::kOr, better, IsBetter(b, n, x, old));
    better = b.Bin(KOp::kAnd, better, b.Bin(KOp::kNe, at, b.Int({i64, 1}, kNone)));
    b.Set(row_best, b.Select(better, x, old));
    b.Set(row_place, b.Select(better, at, old_at));
  });
  b.Store(out, b.task(), b.Get(row_place));
  const Dim elements = graph_rows * shape.back();
  return scope.Finish(graph_rows, Volume(row_shape),
                      Work(elements, ElementCost(c.graph, ComputedInside(c, {group.anchor}))),
                      "32 lanes");
}

}  // namespace lathe::compiler
