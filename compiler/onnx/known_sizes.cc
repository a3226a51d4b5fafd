#include "compiler/onnx/known_sizes.h"

#include <utility>

#include "absl/container/flat_hash_set.h"
#include "ir/builder.h"
#include "ir/element_dims.h"

namespace lathe::onnx {

using ir::ValueId;
using ir::ValueType;

namespace {

// Whether the integers of `v` come from sizes and constants alone, so that asking for them as dims
// makes no input a shape input.
bool IsMadeOfSizes(const ir::Graph& graph, ValueId v) {
  constexpr size_t kMostValues = 256;
  std::vector<ValueId> stack = {v};
  absl::flat_hash_set<ValueId> seen;
  while (!stack.empty()) {
    const ValueId at = stack.back();
    stack.pop_back();
    if (!seen.insert(at).second) continue;
    const ir::Node& n = graph.node(at);
    if (seen.size() > kMostValues || IsFloat(n.type.dtype)) return false;
    if (n.op == ir::Op::k_input && !n.attrs.elements) return false;
    if (n.op == ir::Op::k_shape_of) continue;
    for (ValueId o : n.operands) stack.push_back(o);
  }
  return true;
}

}  // namespace

std::optional<std::vector<Dim>> KnownSizes(ir::Graph* graph, ValueId v) {
  if (!IsMadeOfSizes(*graph, v)) return std::nullopt;
  return ir::ElementDims(graph, v);
}

std::optional<bool> KnownFlag(ir::Graph* graph, ValueId v) {
  const ValueType type = graph->type(v);
  if (type.dtype != bool_ || type.rank() != 0 || !IsMadeOfSizes(*graph, v)) return std::nullopt;
  ir::Builder builder(graph);
  ir::Attrs attrs;
  attrs.dtype = i64;
  const absl::StatusOr<ValueId> number = builder.Create(ir::Op::k_cast, {v}, std::move(attrs));
  if (!number.ok()) return std::nullopt;
  const auto dims = KnownSizes(graph, *number);
  if (!dims || dims->size() != 1 || !(*dims)[0].is_constant()) return std::nullopt;
  return (*dims)[0].constant() != 0;
}

std::vector<std::optional<Dim>> KnownElements(ir::Graph* graph, ValueId v, int64_t count) {
  std::vector<std::optional<Dim>> known(static_cast<size_t>(count));
  if (count < 2) return known;
  ir::Builder builder(graph);
  const absl::StatusOr<ValueId> flat = builder.Reshape(v, {count});
  for (int64_t i = 0; i < count && flat.ok(); ++i) {
    const absl::StatusOr<ValueId> one = builder.Slice(*flat, 0, i, i + 1);
    if (!one.ok()) break;
    if (const auto dims = ir::ElementDims(graph, *one)) known[static_cast<size_t>(i)] = (*dims)[0];
  }
  return known;
}

}  // namespace lathe::onnx
