#include "compiler/lower/index_map.h"

#include <algorithm>
#include <string>

#include "compiler/lower/fuse.h"

namespace lathe::compiler {

using ir::Graph;
using ir::Node;
using ir::Op;
using ir::ValueId;

Shape MapShape(const Shape& shape, const DimMap& map) {
  Shape mapped;
  for (Dim d : shape) mapped.push_back(map(d));
  return mapped;
}

Dim FlatIndex(const Shape& shape, const Coords& coords) {
  Dim flat = 0;
  for (size_t i = 0; i < shape.size(); ++i) flat = flat * shape[i] + coords[i];
  return flat;
}

Coords Delinearize(const Shape& shape, Dim flat) {
  Coords coords(shape.size(), Dim(0));
  Dim rest = flat;
  for (size_t i = shape.size(); i-- > 0;) {
    const bool outermost =
        std::all_of(shape.begin(), shape.begin() + i, [](Dim d) { return d == Dim(1); });
    if (shape[i] == Dim(1) || shape[i] == Dim(0)) continue;
    if (outermost) {  // in range, so nothing is left above it
      coords[i] = rest;
      break;
    }
    // An extent of 0 has no elements, but a masked path may still compute coordinates.
    const Dim extent = Max(shape[i], 1);
    coords[i] = Mod(rest, extent);
    rest = FloorDiv(rest, extent);
  }
  return coords;
}

namespace {

std::vector<ReshapeRun> MatchRuns(const Shape& from, const Shape& to) {
  std::vector<ReshapeRun> runs;
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    ReshapeRun best{i, from.size(), j, to.size()};
    bool found = false;
    for (size_t total = 1; total <= from.size() - i + to.size() - j && !found; ++total) {
      for (size_t na = 0; na <= total && !found; ++na) {
        const size_t a = i + na, b = j + (total - na);
        if (a > from.size() || b > to.size()) continue;
        if (na == 0 || na == total) {  // only extents of 1 may stand alone
          const Shape& side = na == 0 ? to : from;
          const size_t at = na == 0 ? j : i;
          if (total != 1 || side[at] != Dim(1)) continue;
        } else if (Volume(absl::Span<const Dim>(from).subspan(i, a - i)) !=
                   Volume(absl::Span<const Dim>(to).subspan(j, b - j))) {
          continue;
        }
        best = {i, a, j, b};
        found = true;
      }
    }
    runs.push_back(best);
    i = best.from_end;
    j = best.to_end;
  }
  return runs;
}

}  // namespace

std::vector<ReshapeRun> ReshapeRuns(const Shape& from, const Shape& to, const DimMap& map) {
  std::vector<ReshapeRun> runs = MatchRuns(from, to);
  std::vector<ReshapeRun> mapped = MatchRuns(MapShape(from, map), MapShape(to, map));
  return mapped.size() > runs.size() ? mapped : runs;
}

Coords ReshapeCoords(const Shape& from, const Shape& to, const Coords& to_coords, const DimMap& map,
                     absl::Span<const Join> joins) {
  Coords result;
  const Shape inner = MapShape(from, map), outer = MapShape(to, map);
  for (const ReshapeRun& run : ReshapeRuns(from, to, map)) {
    const Shape run_from(inner.begin() + run.from_begin, inner.begin() + run.from_end);
    const Shape run_to(outer.begin() + run.to_begin, outer.begin() + run.to_end);
    const Coords run_coords(to_coords.begin() + run.to_begin, to_coords.begin() + run.to_end);
    const auto join = std::find_if(joins.begin(), joins.end(), [&](const Join& j) {
      return run_coords.size() == 1 && j.joined == run_coords[0] && j.parts == run_from;
    });
    const Coords found =
        join != joins.end() ? join->coords : Delinearize(run_from, FlatIndex(run_to, run_coords));
    result.insert(result.end(), found.begin(), found.end());
  }
  return result;
}

Coords OperandCoords(const Graph& graph, ValueId v, const Coords& coords, const DimMap& map,
                     absl::Span<const Join> joins) {
  const Node& n = graph.node(v);
  const Shape operand = MapShape(graph.type(n.operands[0]).shape, map);
  const Shape shape = MapShape(n.type.shape, map);
  switch (n.op) {
    case Op::k_broadcast: {
      Coords result(operand.size(), Dim(0));
      for (size_t i = 0; i < operand.size(); ++i) {
        const Dim from = graph.type(n.operands[0]).shape[i], to = n.type.shape[n.attrs.axes[i]];
        const Dim c = coords[n.attrs.axes[i]];
        // As the graph has them, whatever `map` knows: where axes are walked as one, the last one's
        // coordinate counts all of them (space.cc).
        if (from == to || (from != Dim(1) && operand[i] == shape[n.attrs.axes[i]])) {
          result[i] = c;
        } else if (from != Dim(1)) {
          result[i] = c * Min(operand[i] - 1, 1);  // extent 1 or equal: stride 0 or 1
        }
      }
      return result;
    }
    case Op::k_reshape:
      return ReshapeCoords(graph.type(n.operands[0]).shape, n.type.shape, coords, map, joins);
    case Op::k_permute: {
      Coords result(operand.size(), Dim(0));
      for (size_t i = 0; i < coords.size(); ++i) result[n.attrs.axes[i]] = coords[i];
      return result;
    }
    case Op::k_slice: {
      Coords result = coords;
      for (size_t i = 0; i < coords.size(); ++i)
        result[i] = map(n.attrs.starts[i]) + coords[i] * n.attrs.steps[i];
      return result;
    }
    default:
      return coords;
  }
}

Coords WindowCoords(const Graph& graph, ValueId v, const Coords& coords, const DimMap& map) {
  const Node& n = graph.node(v);
  const size_t rank = graph.type(n.operands[0]).shape.size(), count = n.attrs.sizes.size();
  Coords inner(coords.begin(), coords.begin() + static_cast<int64_t>(rank));
  for (size_t k = 0; k < count; ++k) {
    Dim& at = inner[rank - count + k];
    at = at * n.attrs.steps[k] - map(n.attrs.low[k]) + coords[rank + k] * n.attrs.dilations[k];
  }
  return inner;
}

Coords UnreducedCoords(const Graph& graph, const Node& n, const Coords& coords) {
  if (n.attrs.keep_dims) return coords;
  const std::vector<int64_t> axes = ReducedAxes(n);
  Coords full(graph.type(n.operands[0]).shape.size(), Dim(0));
  size_t next = 0;
  for (size_t i = 0; i < full.size(); ++i)
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) == axes.end())
      full[i] = coords[next++];
  return full;
}

Dim IndexUnderViews(const Graph& graph, ValueId v, ValueId base, const Coords& coords,
                    const DimMap& map) {
  Coords at = coords;
  while (v != base) {
    const Node& n = graph.node(v);
    if (n.op == Op::k_reshape) {  // down to `base` by reshapes only: the position stays
      ValueId w = v;
      while (w != base && graph.node(w).op == Op::k_reshape) w = graph.node(w).operands[0];
      if (w == base) return FlatIndex(MapShape(n.type.shape, map), at);
    }
    at = OperandCoords(graph, v, at, map);
    v = n.operands[0];
  }
  return FlatIndex(MapShape(graph.type(base).shape, map), at);
}

bool IsStrided(const Graph& graph, ValueId v, ValueId base) {
  for (ValueId w = v; w != base; w = graph.node(w).operands[0]) {
    const std::vector<int64_t>& steps = graph.node(w).attrs.steps;
    if (std::any_of(steps.begin(), steps.end(), [](int64_t step) { return step < 0; }))
      return false;
  }
  const size_t rank = graph.type(v).shape.size();
  Coords coords;
  for (size_t i = 0; i < rank; ++i)
    coords.push_back(graph.dims()->Symbol("_coord" + std::to_string(i)));
  Dim rest = IndexUnderViews(graph, v, base, coords, [](Dim d) { return d; });
  for (Dim c : coords) {
    dim::SymbolId id = 0;
    dim::IsSymbol(c, &id);
    Dim stride, without;
    if (!dim::SplitAffine(rest, id, &stride, &without)) return false;
    for (Dim other : coords) {
      dim::IsSymbol(other, &id);
      if (dim::DependsOn(stride, id)) return false;
    }
    if (c == coords.back() && stride != Dim(1)) return false;
    rest = without;
  }
  return true;
}

bool IsRowBroadcast(const Graph& graph, ValueId v, const Shape& space,
                    const std::vector<int64_t>& axes) {
  const Node& n = graph.node(v);
  if (n.op != Op::k_broadcast || n.type.shape != space) return false;
  const Shape& operand = graph.type(n.operands[0]).shape;
  std::vector<bool> seen(space.size(), false);
  for (size_t i = 0; i < operand.size(); ++i) {
    const int64_t to = n.attrs.axes[i];
    const bool reduced = std::find(axes.begin(), axes.end(), to) != axes.end();
    if (operand[i] != (reduced ? Dim(1) : space[to])) return false;
    seen[to] = true;
  }
  for (size_t a = 0; a < space.size(); ++a) {
    const bool reduced = std::find(axes.begin(), axes.end(), static_cast<int64_t>(a)) != axes.end();
    if (!reduced && !seen[a]) return false;
  }
  return true;
}

}  // namespace lathe::compiler
