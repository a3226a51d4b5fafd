// The plain loop kind of contractions and reductions: one accumulator a lane, ascending.
#include <algorithm>
#include <functional>
#include <limits>

#include "codegen/kernel/math.h"
#include "compiler/lower/emit.h"
#include "compiler/lower/reduce.h"

namespace lathe::compiler {

using ir::Node;
using ir::ValueId;
using kernel::KOp;
using kernel::KType;
using kernel::Reg;

namespace {

constexpr int64_t kMaxTaps = 16;  // of a window that are written out instead of looped over

}  // namespace

Reg ElementEmitter::EmitMatMul(const Node& n, const Coords& coords) {
  const ir::ValueType& lhs = graph().type(n.operands[0]);
  const ir::ValueType& rhs = graph().type(n.operands[1]);
  const size_t rank = coords.size();
  const KType type{n.type.dtype, Varies(coords) ? axis_.lanes : 1};
  const int sum = b().Var(b().Float(type, 0));
  b().For("k", 0, scope_.Map(lhs.shape.back()), 1, [&](Dim k) {
    Open();
    Coords left = coords, right = coords;
    left[rank - 1] = k;
    right[rank - 2] = k;
    right.erase(right.begin(), right.begin() + static_cast<int>(rank - rhs.shape.size()));
    const Reg x = Emit(n.operands[0], left), y = Emit(n.operands[1], right);
    const Reg acc = b().Get(sum);
    b().Set(sum, IsFloat(type.dtype) ? b().Fma(x, y, acc)
                                     : b().Bin(KOp::kAdd, acc, b().Bin(KOp::kMul, x, y)));
    Close();
  });
  return b().Get(sum);
}

// An added mask of -inf hides a key as a bool one does, whatever its score is.
Reg ElementEmitter::VisibleScore(const Node& n, const Coords& coords, Dim key, Reg score) {
  const size_t rank = coords.size();
  const DType dtype = n.type.dtype;
  const Reg hidden = b().Float({dtype, 1}, -std::numeric_limits<double>::infinity());
  if (n.operands.size() > 3) {
    Coords at = coords;
    at[rank - 1] = key;
    const Reg mask = Emit(n.operands[3], at);
    score =
        graph().type(n.operands[3]).dtype == DType::kBool
            ? b().Select(mask, score, hidden)
            : b().Select(b().Bin(KOp::kEq, mask, hidden), hidden, b().Bin(KOp::kAdd, score, mask));
  }
  if (!n.attrs.causal) return score;
  const Dim keys = scope_.Map(graph().type(n.operands[1]).shape[rank - 2]);
  const Dim last = coords[rank - 2] + keys - scope_.Map(n.type.shape[rank - 2]);
  return b().Select(b().Bin(KOp::kLe, b().Index(key), DimValue(last)), score, hidden);
}

// Scores are scalars where the lanes run over the values' columns, so they are computed once a
// vector; twice in all, first for the maximum.
Reg ElementEmitter::EmitAttention(const Node& n, const Coords& coords) {
  const size_t rank = coords.size();
  const Dim keys = scope_.Map(graph().type(n.operands[1]).shape[rank - 2]);
  const KType type{n.type.dtype, Varies(coords) ? axis_.lanes : 1};
  const double infinity = std::numeric_limits<double>::infinity();
  const Reg hidden = b().Float({type.dtype, 1}, -infinity);
  auto score = [&](Dim key) {
    Coords q = coords, k = coords;
    k[rank - 2] = key;
    const int sum = b().Var(b().Float(type, 0));
    b().For("d", 0, scope_.Map(graph().type(n.operands[0]).shape.back()), 1, [&](Dim d) {
      Open();
      q[rank - 1] = k[rank - 1] = d;
      b().Set(sum, b().Fma(Emit(n.operands[0], q), Emit(n.operands[1], k), b().Get(sum)));
      Close();
    });
    return VisibleScore(
        n, coords, key,
        b().Bin(KOp::kMul, b().Get(sum), b().Float({type.dtype, 1}, *n.attrs.scale)));
  };
  const int most = b().Var(b().Splat(hidden, type.lanes));
  b().For("key", 0, keys, 1, [&](Dim key) {
    Open();
    b().Set(most, b().Bin(KOp::kMax, b().Get(most), score(key)));
    Close();
  });
  const Reg top = b().Get(most);
  const Reg shift = b().Select(b().Bin(KOp::kEq, top, hidden), b().Float({type.dtype, 1}, 0), top);
  const int total = b().Var(b().Float(type, 0)), sum = b().Var(b().Float(type, 0));
  b().For("key", 0, keys, 1, [&](Dim key) {
    Open();
    Coords v = coords;
    v[rank - 2] = key;
    const Reg p = kernel::EmitExpNonPositive(b(), b().Bin(KOp::kSub, score(key), shift));
    b().Set(total, b().Bin(KOp::kAdd, b().Get(total), p));
    const Reg value = Emit(n.operands[2], v);
    // What is hidden adds nothing, whatever its value holds.
    const Reg hides =
        b().Bin(KOp::kEq, VisibleScore(n, coords, key, b().Float({type.dtype, 1}, 0)), hidden);
    const Reg acc = b().Get(sum);
    b().Set(sum, b().Select(hides, acc, b().Fma(p, value, acc)));
    Close();
  });
  const Reg all = b().Get(total);
  const Reg empty = EmptyAttentionRow(b(), {type.dtype, 1}, n.attrs.empty_row_nan, keys);
  return b().Select(b().Bin(KOp::kEq, all, b().Float({type.dtype, 1}, 0)), empty,
                    b().Bin(KOp::kDiv, b().Get(sum), all));
}

Reg EmptyAttentionRow(kernel::KernelBuilder& b, kernel::KType type, bool nan, Dim keys) {
  const Reg zero = b.Float(type, 0);
  if (!nan) return zero;
  const Reg none = b.Bin(KOp::kEq, b.Index(keys), b.Index(0));
  return b.Select(none, zero, b.Float(type, std::numeric_limits<double>::quiet_NaN()));
}

Reg ElementEmitter::EmitReduction(ValueId v, const Coords& coords) {
  const Node& n = graph().node(v);
  const std::vector<int64_t> axes = ReducedAxes(n);
  const Shape shape = scope_.MapShape(graph().type(n.operands[0]).shape);
  const KType type{n.type.dtype, Varies(coords) ? axis_.lanes : 1};
  const int acc = b().Var(ReductionIdentity(b(), n.op, type));
  Coords at = UnreducedCoords(graph(), n, coords);
  // Nested loops over the reduced axes; rank is bounded. The taps of a window are written out.
  size_t written_out = axes.size();
  if (IsWindowReduction(graph(), v)) {
    int64_t taps = 1;
    while (written_out > 0) {
      const Dim extent = shape[static_cast<size_t>(axes[written_out - 1])];
      if (!extent.is_constant() || extent.constant() * taps > kMaxTaps) break;
      taps *= extent.constant();
      --written_out;
    }
  }
  std::function<void(size_t)> loop = [&](size_t depth) {
    if (depth == axes.size()) {
      b().Set(acc, b().Bin(ReductionOp(n.op), b().Get(acc), Emit(n.operands[0], at)));
      return;
    }
    const size_t axis = static_cast<size_t>(axes[depth]);
    if (depth >= written_out) {
      for (int64_t i = 0; i < shape[axis].constant(); ++i) {
        at[axis] = i;
        loop(depth + 1);
      }
      return;
    }
    b().For("r", 0, shape[axis], 1, [&](Dim i) {
      Open();
      at[axis] = i;
      loop(depth + 1);
      Close();
    });
  };
  loop(0);
  Dim count = 1;
  for (int64_t a : axes) count = count * shape[static_cast<size_t>(a)];
  return FinishReduction(b(), n, b().Get(acc), count);
}

Reg ElementEmitter::EmitArgExtremum(const Node& n, const Coords& coords) {
  const size_t axis = static_cast<size_t>(*n.attrs.axis);
  const ir::ValueType& operand = graph().type(n.operands[0]);
  const int lanes = Varies(coords) ? axis_.lanes : 1;
  Coords at = UnreducedCoords(graph(), n, coords);
  at[axis] = 0;
  const int best = b().Var(b().Splat(Emit(n.operands[0], at), lanes));
  const int index = b().Var(b().Int({i64, lanes}, 0));
  b().For("r", 1, scope_.Map(operand.shape[axis]), 1, [&](Dim i) {
    Open();
    at[axis] = i;
    const Reg x = Emit(n.operands[0], at), old = b().Get(best);
    const Reg better = TakesPlace(b(), n, x, old);
    b().Set(best, b().Select(better, x, old));
    b().Set(index, b().Select(better, b().Index(i), b().Get(index)));
    Close();
  });
  return b().Get(index);
}

}  // namespace lathe::compiler
