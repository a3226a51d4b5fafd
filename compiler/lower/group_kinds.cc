// What starts a group of which kind, and how its operands may be read.
#include <algorithm>

#include "compiler/lower/fuse.h"

namespace lathe::compiler {
namespace {

using ir::Emission;
using ir::Graph;
using ir::kNoValue;
using ir::Node;
using ir::Op;
using ir::ValueId;

constexpr int kMaxSearched = 16;   // values behind a reduction among which windows are looked for
constexpr int64_t kMinPiece = 12;  // elements of a window that lie together, to be read in place
constexpr int64_t kMinPieceOfGroup = 4;  // else a plain loop does it
constexpr int64_t kMinPositions = 6;     // a row of positions has, where it is known, to fill tiles

enum class AxisRole : uint8_t { kOther, kWindow, kLastPosition };

// What the axes of `v` are to the `windows` that elementwise ops, permutes, and reshapes of the
// windows' axes alone, lie upon; empty without windows. Looks at `budget` values at most.
std::vector<AxisRole> WindowRoles(const Graph& graph, ValueId v, int* budget) {
  const Node& n = graph.node(v);
  if (--*budget < 0) return {};
  const size_t rank = n.type.shape.size();
  std::vector<AxisRole> roles;
  if (n.op == Op::k_windows) {
    const size_t first = rank - n.attrs.sizes.size();
    roles.assign(rank, AxisRole::kOther);
    std::fill(roles.begin() + static_cast<int64_t>(first), roles.end(), AxisRole::kWindow);
    roles[first - 1] = AxisRole::kLastPosition;
    return roles;
  }
  if (n.op == Op::k_permute) {
    const std::vector<AxisRole> under = WindowRoles(graph, n.operands[0], budget);
    for (size_t i = 0; i < rank && !under.empty(); ++i)
      roles.push_back(under[static_cast<size_t>(n.attrs.axes[i])]);
    return roles;
  }
  if (n.op == Op::k_reshape) {
    const Shape &from = graph.type(n.operands[0]).shape, &to = n.type.shape;
    roles = WindowRoles(graph, n.operands[0], budget);
    while (!roles.empty() && roles.back() == AxisRole::kWindow) roles.pop_back();
    const size_t rest = roles.size();
    const bool same =
        rest > 0 && rest < from.size() && to.size() > rest &&
        std::find(roles.begin(), roles.end(), AxisRole::kWindow) == roles.end() &&
        std::equal(from.begin(), from.begin() + static_cast<int64_t>(rest), to.begin());
    if (!same) return {};
    roles.resize(rank, AxisRole::kWindow);
    return roles;
  }
  if (ir::Info(n.op).emission != Emission::kElementwise) return roles;
  for (ValueId o : n.operands)
    if (roles.empty() && graph.type(o).shape == n.type.shape) roles = WindowRoles(graph, o, budget);
  return roles;
}

}  // namespace

bool IsArgExtremum(Op op) { return op == Op::k_argmax || op == Op::k_argmin; }

bool IsReduction(Op op) { return ir::Info(op).emission == ir::Emission::kReduction; }

bool IsView(Op op) {
  return op == Op::k_broadcast || op == Op::k_reshape || op == Op::k_permute || op == Op::k_slice;
}

std::vector<int64_t> ReducedAxes(const Node& n) {
  if (IsArgExtremum(n.op)) return {*n.attrs.axis};
  std::vector<int64_t> axes = n.attrs.axes;
  std::sort(axes.begin(), axes.end());
  return axes;
}

bool IsRowReduction(const Graph& graph, ValueId v) {
  const Node& n = graph.node(v);
  if (!IsReduction(n.op)) return false;
  const std::vector<int64_t> axes = ReducedAxes(n);
  return !axes.empty() && axes.back() == graph.type(n.operands[0]).rank() - 1 &&
         !IsWindowReduction(graph, v);
}

bool IsWindowReduction(const Graph& graph, ValueId v) {
  const Node& n = graph.node(v);
  if (!IsReduction(n.op)) return false;
  int budget = kMaxSearched;
  const std::vector<AxisRole> roles = WindowRoles(graph, n.operands[0], &budget);
  // All of the windows' axes, and not the positions along the last one.
  const std::vector<int64_t> axes = ReducedAxes(n);
  for (size_t i = 0; i < roles.size(); ++i) {
    const bool reduced = std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) != axes.end();
    if (roles[i] == (reduced ? AxisRole::kLastPosition : AxisRole::kWindow)) return false;
  }
  return !roles.empty();
}

bool AreTrailing(const std::vector<int64_t>& axes, size_t rank) {
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i] != static_cast<int64_t>(rank - axes.size() + i)) return false;
  return true;
}

bool ReadsEveryIndex(const Graph& graph, ValueId gather) {
  const Node& n = graph.node(gather);
  if (n.attrs.unchecked) return true;  // nothing to find out
  const size_t axis = static_cast<size_t>(*n.attrs.axis);
  const size_t end = axis + graph.type(n.operands[1]).shape.size();
  for (size_t i = 0; i < n.type.shape.size(); ++i) {
    if (i >= axis && i < end) continue;
    const Dim d = n.type.shape[i];
    if (d.is_constant() ? d.constant() < 1 : !graph.facts().ProvesQuickly(d >= 1)) return false;
  }
  return true;
}

bool IsGemm(const Graph& graph, ValueId v) {
  const Node& n = graph.node(v);
  if (IsByteGemm(graph, v)) return true;
  if (n.op != Op::k_matmul || n.type.dtype != f32) return false;
  const Node& rhs = graph.node(n.operands[1]);
  if (rhs.op != Op::k_constant) return false;
  return rhs.type.rank() == 2 || (rhs.type.rank() == 3 && WindowsInPlace(graph, v).has_value());
}

ValueId BytesOf(const Graph& graph, ValueId v) {
  while (graph.node(v).op == Op::k_reshape) v = graph.node(v).operands[0];
  const Node& n = graph.node(v);
  return n.op == Op::k_cast && graph.type(n.operands[0]).dtype == u8 ? n.operands[0] : kNoValue;
}

bool IsByteGemm(const Graph& graph, ValueId v) {
  const Node& n = graph.node(v);
  if (n.op != Op::k_matmul || n.type.dtype != i32) return false;
  const Node& rhs = graph.node(n.operands[1]);
  if (rhs.op != Op::k_cast || BytesOf(graph, n.operands[0]) == kNoValue) return false;
  const Node& matrix = graph.node(rhs.operands[0]);
  return matrix.op == Op::k_constant && matrix.type.dtype == i8 && matrix.type.rank() == 2;
}

std::optional<InPlaceWindows> WindowsInPlace(const Graph& graph, ValueId product) {
  const bool grouped = graph.type(graph.node(product).operands[1]).rank() == 3;
  ValueId v = graph.node(product).operands[0];
  const Shape& rows = graph.type(v).shape;
  while (graph.node(v).op == Op::k_reshape) v = graph.node(v).operands[0];
  std::vector<int64_t> order;
  if (grouped) {
    if (graph.node(v).op != Op::k_permute) return std::nullopt;
    order = graph.node(v).attrs.axes;
    v = graph.node(v).operands[0];
  }
  const Node& n = graph.node(v);
  if (n.op != Op::k_windows || n.type.dtype != f32) return std::nullopt;
  const ir::Attrs& a = n.attrs;
  // The positions of the windows are the first axes.
  const size_t count = a.sizes.size(), last = n.type.shape.size() - count - 1;
  Dim positions = n.type.shape[last], volume = 1;
  if (grouped) {
    // The groups, which are the last axis of positions, come first.
    if (count < 2 || rows.size() != 3 || rows[0] != positions || !positions.is_constant())
      return std::nullopt;
    for (size_t i = 0; i < order.size(); ++i)
      if (static_cast<size_t>(order[i]) != (i == 0 ? last : i <= last ? i - 1 : i))
        return std::nullopt;
    positions = n.type.shape[last - 1];
  }
  const auto is_zero = [](Dim d) { return d == Dim(0); };
  for (Dim d : a.sizes) volume *= d;
  const bool fits = volume == rows.back() && volume.is_constant() && a.sizes.back().is_constant() &&
                    a.sizes.back().constant() >= (grouped ? kMinPieceOfGroup : kMinPiece) &&
                    a.dilations.back() == 1 &&
                    (!positions.is_constant() || positions.constant() >= kMinPositions) &&
                    std::all_of(a.low.begin(), a.low.end(), is_zero) &&
                    std::all_of(a.high.begin(), a.high.end(), is_zero);
  if (!fits) return std::nullopt;
  return InPlaceWindows{v, grouped};
}

}  // namespace lathe::compiler
