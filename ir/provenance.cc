#include "ir/provenance.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

namespace lathe::ir {
namespace {

struct Place {
  ValueId value;
  int axis, depth;
};

bool SharesSymbol(Dim a, Dim b) {
  const std::vector<dim::SymbolId> mine = dim::FreeSymbols(a);
  return std::any_of(mine.begin(), mine.end(),
                     [&](dim::SymbolId s) { return dim::DependsOn(b, s); });
}

std::string At(const Node& n) {
  const std::string where = n.location.ToString();
  return where.empty() ? "" : absl::StrCat(" at ", where);
}

// The operand dims that a result's dim was made of: the equal one, nearest in position from the
// end, else all that share a symbol with it.
std::vector<std::pair<ValueId, int>> Sources(const Graph& graph, const Node& n, int axis, Dim d) {
  std::vector<ValueId> from = n.operands;
  for (const Block& side : n.blocks)
    from.insert(from.end(), side.results.begin(), side.results.end());
  const int from_end = n.type.rank() - axis;
  std::pair<ValueId, int> best{kNoValue, 0};
  int best_distance = 0;
  std::vector<std::pair<ValueId, int>> parts;
  for (const ValueId v : from) {
    const Shape& shape = graph.type(v).shape;
    const int rank = static_cast<int>(shape.size());
    for (int a = 0; a < rank; ++a) {
      const Dim other = shape[static_cast<size_t>(a)];
      const int distance = std::abs((rank - a) - from_end);
      if (other == d && (best.first == kNoValue || distance < best_distance)) {
        best = {v, a};
        best_distance = distance;
      } else if (other != d && SharesSymbol(d, other)) {
        parts.emplace_back(v, a);
      }
    }
  }
  if (best.first != kNoValue) return {best};
  return parts;
}

}  // namespace

std::vector<DimOrigin> OriginsOf(const Graph& graph, ValueId value, int axis, size_t limit) {
  std::vector<DimOrigin> lines;
  absl::flat_hash_set<std::pair<ValueId, int>> seen;
  if (axis < 0) axis += graph.type(value).rank();
  std::vector<Place> todo = {{value, axis, 0}};
  while (!todo.empty() && lines.size() < limit) {
    const Place p = todo.back();
    todo.pop_back();
    if (!seen.insert({p.value, p.axis}).second) continue;
    const Node& n = graph.node(p.value);
    const Dim d = n.type.shape[static_cast<size_t>(p.axis)];
    std::string text =
        absl::StrCat(graph.ValueName(p.value), ".", p.axis, " = ", d.ToString(), ": ");
    std::vector<std::pair<ValueId, int>> sources;
    if (n.op == Op::k_input) {
      absl::StrAppend(&text, "axis ", p.axis, " of input ", n.attrs.name, At(n));
    } else if (n.op == Op::k_constant) {
      absl::StrAppend(&text, "extent of a constant", At(n));
    } else {
      if (!d.is_constant()) sources = Sources(graph, n, p.axis, d);
      absl::StrAppend(&text, "by ", std::string(Name(n.op)), At(n));
      for (size_t i = 0; i < sources.size(); ++i) {
        absl::StrAppend(&text, i == 0 ? " from " : ", ", graph.ValueName(sources[i].first), ".",
                        sources[i].second);
      }
      if (sources.empty()) {
        text += d.is_constant() ? ", for every size" : ", as its attributes say";
      }
    }
    lines.push_back({p.value, p.axis, p.depth, std::move(text)});
    for (size_t i = sources.size(); i-- > 0;) {
      todo.push_back({sources[i].first, sources[i].second, p.depth + 1});
    }
  }
  return lines;
}

}  // namespace lathe::ir
