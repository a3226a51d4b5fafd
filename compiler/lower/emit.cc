#include "compiler/lower/emit.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "codegen/kernel/math.h"
#include "compiler/lower/emit_random.h"

namespace lathe::compiler {

using ir::Node;
using ir::Op;
using ir::ValueId;
using kernel::kNoReg;
using kernel::KOp;
using kernel::Reg;

namespace {

// Where a reshape or broadcast leaves the axes of its operand: `axes` (in the operand, of extents
// other than 1) become those of the result. False if one of them is split, joined or repeated.
bool FollowAxes(const Node& n, const Shape& from, std::vector<int64_t>* axes) {
  const Shape& to = n.type.shape;
  std::vector<int64_t> place;  // by axis of `from`
  if (n.op == Op::k_broadcast) {
    place = n.attrs.axes;
  } else if (n.op == Op::k_reshape) {  // axes of extent 1 come and go
    size_t next = 0;
    const auto skip = [&] {
      while (next < to.size() && to[next] == Dim(1)) ++next;
    };
    for (Dim extent : from) {
      place.push_back(0);
      if (extent == Dim(1)) continue;
      skip();
      if (next == to.size() || to[next] != extent) return false;
      place.back() = static_cast<int64_t>(next++);
    }
    skip();
    if (next != to.size()) return false;
  }
  if (place.size() != from.size()) return false;
  for (int64_t& a : *axes) {
    const Dim extent = from[static_cast<size_t>(a)];
    a = place[static_cast<size_t>(a)];
    if (a >= static_cast<int64_t>(to.size()) || to[static_cast<size_t>(a)] != extent) return false;
  }
  return true;
}

// x - broadcast(max(x)), row by row: what softmax takes the exponential of, never above 0.
bool IsShiftedByMaximum(const ir::Graph& graph, ValueId v) {
  if (graph.node(v).op != Op::k_sub) return false;
  const ValueId x = graph.node(v).operands[0];
  std::vector<const Node*> views;  // from the difference to the maximum
  const Node* n = &graph.node(graph.node(v).operands[1]);
  for (; n->op == Op::k_reshape || n->op == Op::k_broadcast; n = &graph.node(n->operands[0]))
    views.push_back(n);
  if (n->op != Op::k_max || n->operands[0] != x) return false;
  const Shape& whole = graph.type(x).shape;
  std::vector<int64_t> kept, axes;  // axes of x that aren't reduced; the same in what follows
  for (size_t i = 0, next = 0; i < whole.size(); ++i) {
    const auto axis = static_cast<int64_t>(i);
    const bool reduced =
        std::find(n->attrs.axes.begin(), n->attrs.axes.end(), axis) != n->attrs.axes.end();
    if (!reduced && whole[i] != Dim(1)) {
      kept.push_back(axis);
      axes.push_back(static_cast<int64_t>(next));
    }
    next += !reduced || n->type.shape.size() == whole.size() ? 1 : 0;
  }
  for (size_t i = views.size(); i-- > 0;) {
    const Shape& from = graph.type(views[i]->operands[0]).shape;
    if (!FollowAxes(*views[i], from, &axes)) return false;
  }
  return axes == kept;
}

// The depth is that of `d`.
bool Divides(Dim d) {
  if (d.is_constant()) return false;
  const dim::Expr e = dim::Decompose(d);
  return e.kind == dim::ExprKind::kFloorDiv || e.kind == dim::ExprKind::kMod ||
         e.kind == dim::ExprKind::kCeilDiv ||
         std::any_of(e.operands.begin(), e.operands.end(), Divides);
}

// A size that isn't an extent: its overflow is found only if the host program computes it. One that
// divides is computed where it is used, because the divisor may be 0 in an `if` that isn't taken.
Dim SizeAsData(KernelScope& scope, Dim d) {
  return Divides(d) ? scope.Map(d) : scope.Param("size", d);
}

}  // namespace

bool ElementEmitter::Varies(const Coords& coords) const {
  return std::any_of(coords.begin(), coords.end(), [this](Dim d) { return Varies(d); });
}

Reg ElementEmitter::Emit(ValueId v, const Coords& coords) {
  for (size_t i = blocks_.size(); i-- > 0;)
    if (auto it = blocks_[i].defined.find(v); it != blocks_[i].defined.end()) return it->second;
  const Key key{v, predicate_, coords};
  for (size_t i = blocks_.size(); i-- > 0;)
    if (auto it = blocks_[i].memo.find(key); it != blocks_[i].memo.end()) return it->second;
  Reg r;
  if (scope_.plan().IsBuffer(v)) {
    r = LoadAt(scope_.Input(v), FlatIndex(scope_.MapShape(graph().type(v).shape), coords));
  } else {
    r = Compute(v, coords);
  }
  blocks_.back().memo[key] = r;
  return r;
}

// Depth is bounded by the number of values that fusion puts into one group.
Reg ElementEmitter::Compute(ValueId v, const Coords& coords) {
  const Node& n = graph().node(v);
  switch (n.op) {
    case Op::k_constant:
      return EmitScalarConstant(n);
    case Op::k_iota:
      return b().Cast(DimValue(coords[*n.attrs.axis]), n.type.dtype);
    case Op::k_size:
      return b().Cast(b().Index(SizeAsData(scope_, *n.attrs.dim)), n.type.dtype);
    case Op::k_random:
      return EmitRandomElement(b(), n, DimValue(FlatIndex(scope_.MapShape(n.type.shape), coords)));
    case Op::k_reshape: {
      ValueId base = v;
      while (graph().node(base).op == Op::k_reshape && (base == v || !scope_.plan().IsBuffer(base)))
        base = graph().node(base).operands[0];
      if (scope_.plan().IsBuffer(base))
        return LoadAt(scope_.Input(base), FlatIndex(scope_.MapShape(n.type.shape), coords));
      return Emit(n.operands[0], OperandCoords(graph(), v, coords, scope_.map(), scope_.joins()));
    }
    case Op::k_broadcast:
    case Op::k_permute:
    case Op::k_slice:
      return Emit(n.operands[0], OperandCoords(graph(), v, coords, scope_.map(), scope_.joins()));
    case Op::k_pad:
      return EmitPad(n, coords);
    case Op::k_windows:
      return EmitWindows(v, coords);
    case Op::k_concat:
      return EmitConcat(n, coords);
    case Op::k_gather:
      return EmitGather(v, coords);
    case Op::k_check_index: {
      const Reg index =
          EmitCheckedIndex("check_index", n.operands[0], coords, scope_.Map(*n.attrs.dim));
      return b().Cast(index, n.type.dtype);
    }
    case Op::k_matmul:
      return EmitMatMul(n, coords);
    case Op::k_attention:
      return EmitAttention(n, coords);
    case Op::k_argmax:
    case Op::k_argmin:
      return EmitArgExtremum(n, coords);
    case Op::k_sum:
    case Op::k_prod:
    case Op::k_max:
    case Op::k_min:
    case Op::k_all:
    case Op::k_any:
      return EmitReduction(v, coords);
    case Op::k_segment_sum:
    case Op::k_segment_max:
      return EmitSegmentReduction(n, coords);
    case Op::k_to_padded:
      return EmitToPadded(n, coords);
    default: {
      std::vector<Reg> operands;
      for (ValueId o : n.operands) operands.push_back(Emit(o, coords));
      return Apply(v, std::move(operands));
    }
  }
}

Reg ElementEmitter::Apply(ValueId v, std::vector<Reg> operands) {
  const Node& n = graph().node(v);
  if (n.op == Op::k_cast) return b().Cast(operands[0], n.type.dtype);
  if (n.op == Op::k_bitcast) return b().Bitcast(operands[0], n.type.dtype);
  if (n.op == Op::k_select) return b().Select(operands[0], operands[1], operands[2]);
  if (n.op == Op::k_exp && IsShiftedByMaximum(graph(), n.operands[0]))
    return kernel::EmitExpNonPositive(b(), operands[0]);
  int lanes = 1;
  for (Reg r : operands) lanes = std::max(lanes, b().type(r).lanes);
  for (Reg& r : operands) r = b().Splat(r, lanes);
  return kernel::EmitElementwise(b(), n.op, operands);
}

Reg ElementEmitter::EmitScalarConstant(const Node& n) {
  uint64_t bits = 0;
  std::memcpy(&bits, n.attrs.tensor.raw(), static_cast<size_t>(SizeOf(n.type.dtype)));
  return b().Bits({n.type.dtype, 1}, bits);
}

// --- memory
// ---------------------------------------------------------------------------------------

Reg ElementEmitter::SomeLane() {
  const bool vector = predicate_ != kNoReg && b().type(predicate_).lanes > 1;
  return vector ? b().Any(And(axis_.mask, predicate_)) : predicate_;
}

Reg ElementEmitter::LoadAt(int buffer, Dim flat) {
  if (!Varies(flat)) {
    if (predicate_ == kNoReg) return b().Load(buffer, flat);
    return b().Load(buffer, flat, 1, 1, SomeLane());
  }
  const Reg mask = And(axis_.mask, predicate_);
  Dim stride, rest;
  if (dim::SplitAffine(flat, axis_.symbol, &stride, &rest))
    return b().Load(buffer, flat, axis_.lanes, stride, mask);
  const bool narrow = scope_.FitsI32(flat, axis_.symbol, axis_.lanes);
  return b().Gather(buffer, DimValue(flat, narrow ? i32 : i64), mask);
}

void ElementEmitter::StoreAt(int buffer, Dim flat, Reg value) {
  if (!Varies(flat)) {
    b().Store(buffer, flat, value);
    return;
  }
  Dim stride = 1, rest;
  dim::SplitAffine(flat, axis_.symbol, &stride, &rest);
  b().Store(buffer, flat, b().Splat(value, axis_.lanes), stride, axis_.mask);
}

Reg ElementEmitter::DimValue(Dim d, DType type) {
  if (!Varies(d)) return b().Cast(b().Index(d), type);
  const Reg lane = b().Lane({type, axis_.lanes});
  Dim stride, rest;
  if (dim::SplitAffine(d, axis_.symbol, &stride, &rest)) {
    const Reg steps =
        stride == Dim(1) ? lane : b().Bin(KOp::kMul, lane, b().Cast(b().Index(stride), type));
    return b().Bin(KOp::kAdd, b().Cast(b().Index(d), type), steps);
  }
  const dim::Expr e = dim::Decompose(d);
  Reg r = DimValue(e.operands[0], type);
  for (size_t i = 1; i < e.operands.size(); ++i) {
    const Reg s = DimValue(e.operands[i], type);
    switch (e.kind) {
      case dim::ExprKind::kAdd:
        r = b().Bin(KOp::kAdd, r, s);
        break;
      case dim::ExprKind::kMul:
        r = b().Bin(KOp::kMul, r, s);
        break;
      case dim::ExprKind::kFloorDiv:
        r = b().Bin(KOp::kFloorDiv, r, s);
        break;
      case dim::ExprKind::kMod:
        r = b().Bin(KOp::kMod, r, s);
        break;
      case dim::ExprKind::kMin:
        r = b().Bin(KOp::kMin, r, s);
        break;
      case dim::ExprKind::kMax:
        r = b().Bin(KOp::kMax, r, s);
        break;
      case dim::ExprKind::kCeilDiv:
        r = b().Un(KOp::kNeg, b().Bin(KOp::kFloorDiv, b().Un(KOp::kNeg, r), s));
        break;
      default:
        break;
    }
  }
  return r;
}

// --- piecewise views and gather -----------------------------------------------------------------

Reg ElementEmitter::And(Reg x, Reg y) {
  if (x == kNoReg) return y;
  if (y == kNoReg) return x;
  return b().Bin(KOp::kAnd, x, y);
}

Reg ElementEmitter::Compare(KOp op, Dim d, Dim bound) {
  return b().Bin(op, DimValue(d), DimValue(bound));
}

Reg ElementEmitter::EmitWhere(Reg condition, ValueId v, const Coords& coords) {
  const Reg outer = predicate_;
  predicate_ = And(predicate_, condition);
  const Reg r = Emit(v, coords);
  predicate_ = outer;
  return r;
}

Reg ElementEmitter::EmitPad(const Node& n, const Coords& coords) {
  const Shape operand = scope_.MapShape(graph().type(n.operands[0]).shape);
  Coords inner = coords;
  Reg inside = kNoReg;
  for (size_t i = 0; i < coords.size(); ++i) {
    inner[i] = coords[i] - scope_.Map(n.attrs.low[i]);
    if (n.attrs.low[i] != Dim(0)) inside = And(inside, Compare(KOp::kGe, inner[i], 0));
    if (n.attrs.high[i] != Dim(0)) inside = And(inside, Compare(KOp::kLt, inner[i], operand[i]));
  }
  const Reg r = EmitWhere(inside, n.operands[0], inner);
  if (inside == kNoReg) return r;
  const double fill = n.attrs.value.value_or(0);
  return b().Select(inside, r, b().Float({n.type.dtype, 1}, fill));
}

Reg ElementEmitter::EmitConcat(const Node& n, const Coords& coords) {
  const size_t axis = static_cast<size_t>(*n.attrs.axis);
  std::vector<Dim> begin{0};
  for (ValueId o : n.operands)
    begin.push_back(begin.back() + scope_.Map(graph().type(o).shape[axis]));
  Reg r = kNoReg;
  for (size_t k = n.operands.size(); k-- > 0;) {
    Coords inner = coords;
    inner[axis] = coords[axis] - begin[k];
    const bool last = k + 1 == n.operands.size();
    const Reg below = last ? kNoReg : Compare(KOp::kLt, coords[axis], begin[k + 1]);
    const Reg above = k == 0 ? kNoReg : Compare(KOp::kGe, coords[axis], begin[k]);
    const Reg part = EmitWhere(And(above, below), n.operands[k], inner);
    r = last ? part : b().Select(below, part, r);
  }
  return r;
}

Reg ElementEmitter::EmitGather(ValueId v, const Coords& coords) {
  const Node& n = graph().node(v);
  const ir::ValueType& data = graph().type(n.operands[0]);
  const size_t axis = static_cast<size_t>(*n.attrs.axis);
  const size_t index_rank = graph().type(n.operands[1]).shape.size();
  const Coords index_coords(coords.begin() + axis, coords.begin() + axis + index_rank);
  const Dim extent = scope_.Map(data.shape[axis]);
  const Reg outer = predicate_;
  Reg row;
  if (n.attrs.unchecked) {
    row = b().Cast(Emit(n.operands[1], index_coords), i64);
    const Reg inside = And(b().Bin(KOp::kGe, row, b().Int({i64, 1}, 0)),
                           b().Bin(KOp::kLt, row, b().Index(extent)));
    predicate_ = And(predicate_, inside);
  } else {
    row = EmitCheckedIndex("gather", n.operands[1], index_coords, extent);
  }
  const bool vector = b().type(row).lanes > 1;
  Coords at(coords.begin(), coords.begin() + axis);
  at.push_back(vector ? Dim(0) : b().Bind("row", row));
  at.insert(at.end(), coords.begin() + axis + index_rank, coords.end());
  const Shape shape = scope_.MapShape(data.shape);
  const Dim flat = FlatIndex(shape, at);
  const int buffer = scope_.FlatInput(n.operands[0]);
  Reg r;
  if (vector) {
    const Dim stride = Volume(absl::Span<const Dim>(shape).subspan(axis + 1));
    const Reg position =
        b().Bin(KOp::kAdd, DimValue(flat), b().Bin(KOp::kMul, row, b().Index(stride)));
    r = b().Gather(buffer, position, And(axis_.mask, predicate_));
  } else {
    r = LoadAt(buffer, flat);
  }
  predicate_ = outer;
  return r;
}

Reg ElementEmitter::EmitCheckedIndex(const std::string& op, ValueId indices,
                                     const Coords& index_coords, Dim extent) {
  const Reg index = b().Cast(Emit(indices, index_coords), i64);
  const Reg bound = b().Index(extent), zero = b().Int({i64, 1}, 0);
  const Reg wrapped =
      b().Select(b().Bin(KOp::kLt, index, zero), b().Bin(KOp::kAdd, index, bound), index);
  Reg bad = b().Bin(KOp::kOr, b().Bin(KOp::kLt, wrapped, zero), b().Bin(KOp::kGe, wrapped, bound));
  const bool vector = b().type(bad).lanes > 1;
  bad = And(bad, vector ? predicate_ : SomeLane());
  if (vector) bad = And(bad, axis_.mask);
  EmitIndexFailure(op + ": index out of range", indices, index_coords, extent, bad, index);
  return wrapped;
}

void ElementEmitter::EmitIndexFailure(const std::string& text, ValueId indices,
                                      const Coords& index_coords, Dim extent, Reg bad, Reg index) {
  const Shape shape = scope_.MapShape(graph().type(indices).shape);
  if (b().type(bad).lanes == 1) {
    const Dim position = FlatIndex(shape, index_coords);
    const bool scalar_position = !Varies(position);
    b().If(bad, [&] { b().Fail(text, index, scalar_position ? position : Dim(0), extent); });
    return;
  }
  // The cold path finds the lane.
  b().If(b().Any(bad), [&] {
    Open();
    b().For("lane", 0, axis_.mask == kNoReg ? Dim(axis_.lanes) : axis_.count, 1, [&](Dim lane) {
      Coords one;
      const Dim here = b().dims()->SymbolDim(axis_.symbol) + lane;
      for (Dim d : index_coords)
        one.push_back(dim::Substitute(d, {{axis_.symbol, here}}, b().dims()));
      // The indices of other lanes may lie outside of their buffer.
      const Reg is_here = b().Bin(KOp::kEq, b().Lane({i64, axis_.lanes}), b().Index(lane));
      b().If(b().Any(And(bad, is_here)), [&] {
        ElementEmitter scalar(scope_, VectorAxis{});
        const Reg i = b().Cast(scalar.Emit(indices, one), i64);
        b().Fail(text, i, FlatIndex(shape, one), extent);
      });
    });
    b().Fail(text, b().Int({i64, 1}, 0), 0, extent);
    Close();
  });
}

}  // namespace lathe::compiler
