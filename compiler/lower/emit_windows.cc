// windows: the operand's element under a tap, or the fill outside. What the position along the
// lanes decides becomes a mask, all else a branch.
#include <algorithm>
#include <functional>

#include "compiler/lower/emit.h"

namespace lathe::compiler {

using ir::Node;
using kernel::kNoReg;
using kernel::KOp;
using kernel::Reg;

int64_t ElementEmitter::LaneStep(Dim d) const {
  Dim stride, rest;
  if (!Varies(d) || !dim::SplitAffine(d, axis_.symbol, &stride, &rest) || !stride.is_constant())
    return 0;
  return std::max<int64_t>(stride.constant(), 0);
}

Reg ElementEmitter::AtLeast(Dim d, Dim bound) {
  const int64_t step = LaneStep(d);
  if (step == 0) return Compare(KOp::kGe, d, bound);
  // Lane l holds d + l * step, so the lanes from some one on.
  return b().Un(KOp::kNot, b().Mask(CeilDiv(bound - d, step), axis_.lanes));
}

Reg ElementEmitter::Below(Dim d, Dim bound) {
  const int64_t step = LaneStep(d);
  if (step == 0) return Compare(KOp::kLt, d, bound);
  return b().Mask(CeilDiv(bound - d, step), axis_.lanes);
}

Reg ElementEmitter::EmitWindows(ir::ValueId v, const Coords& coords) {
  const Node& n = graph().node(v);
  const ir::Attrs& a = n.attrs;
  const Shape operand = scope_.MapShape(graph().type(n.operands[0]).shape);
  const size_t rank = operand.size(), first = rank - a.sizes.size();
  const Coords inner = WindowCoords(graph(), v, coords, scope_.map());
  Reg branch = kNoReg, lanes = kNoReg;  // conditions: alike for all lanes, and not
  Reg all = kNoReg;                     // whether every lane that exists is inside
  for (size_t axis = first; axis < rank; ++axis) {
    const size_t k = axis - first;
    const bool varies = Varies(inner[axis]);
    Reg& inside = varies ? lanes : branch;
    // Without padding at an end no window passes it.
    if (a.low[k] != Dim(0)) inside = And(inside, AtLeast(inner[axis], 0));
    if (a.high[k] != Dim(0)) inside = And(inside, Below(inner[axis], operand[axis]));
    if (varies && inside != kNoReg)
      all = And(all, AllInside(inner[axis], operand[axis], n.type.dtype));
  }
  if (branch == kNoReg && lanes == kNoReg) return Emit(n.operands[0], inner);
  const Reg outside = b().Float({n.type.dtype, 1}, a.value.value_or(0));
  const auto masked = [&] {
    const Reg r = EmitWhere(lanes, n.operands[0], inner);
    return lanes == kNoReg ? r : b().Select(lanes, r, outside);
  };
  if (branch == kNoReg && all == kNoReg) return masked();
  const int width = Varies(inner) ? axis_.lanes : 1;
  const int result = b().Var(b().Splat(outside, width));
  const auto keep = [&](const std::function<Reg()>& emit) {
    Open();
    b().Set(result, b().Splat(emit(), width));
    Close();
  };
  const auto choose = [&] {
    if (all == kNoReg) return keep(masked);
    b().If(
        all, [&] { keep([&] { return Emit(n.operands[0], inner); }); }, [&] { keep(masked); });
  };
  if (branch == kNoReg) {
    choose();
  } else {
    b().If(branch, choose);
  }
  return b().Get(result);
}

// An access with a stride or of narrow elements is dear under a mask: kNoReg for others.
Reg ElementEmitter::AllInside(Dim d, Dim extent, DType dtype) {
  const int64_t step = LaneStep(d);
  if (step == 0 || (step == 1 && SizeOf(dtype) >= 4)) return kNoReg;
  const Dim count = axis_.mask == kNoReg ? Dim(axis_.lanes) : Min(axis_.count, Dim(axis_.lanes));
  return And(b().Bin(KOp::kGe, b().Index(d), b().Int({i64, 1}, 0)),
             b().Bin(KOp::kLt, b().Index(d + step * (count - 1)), b().Index(extent)));
}

}  // namespace lathe::compiler
