#include "ir/expand.h"

#include <deque>
#include <memory>
#include <numeric>

#include "absl/container/flat_hash_map.h"
#include "ir/builder.h"
#include "ir/status_macros.h"

namespace lathe::ir {
namespace {

bool IsComposite(const Node& n) { return Info(n.op).emission == Emission::kComposite; }

// Blocks of a graph by the node that owns them, since appending nodes moves the blocks in memory.
struct BlockPlace {
  ValueId owner = kNoValue;  // kNoValue: the body
  size_t index = 0;
  std::shared_ptr<const Side> side;  // null: the body
};

Block& At(Graph* graph, const BlockPlace& place) {
  return place.owner == kNoValue ? graph->body : graph->node(place.owner).blocks[place.index];
}

// A composite that computes does so in f32 if it is one of narrow floats: only its result rounds.
absl::StatusOr<ValueId> Expand(Builder& b, const Node& composite) {
  const OpInfo& info = Info(composite.op);
  const DType narrow = composite.type.dtype;
  if (!IsNarrowFloat(narrow) || info.dtypes == kAllTypes) return info.expand(b, composite);
  Node wide = composite;
  wide.type.dtype = f32;
  for (ValueId& v : wide.operands) {
    if (b.graph()->type(v).dtype != narrow) continue;
    LATHE_ASSIGN_OR_RETURN(v, b.Create(Op::k_cast, {v}, {.dtype = f32}));
  }
  LATHE_ASSIGN_OR_RETURN(const ValueId result, info.expand(b, wide));
  return b.Create(Op::k_cast, {result}, {.dtype = narrow});
}

// Expands the composites that stand in one block, and lists the blocks inside of it.
absl::Status ExpandBlock(Graph* graph, const BlockPlace& place, std::vector<ValueId>* replacement,
                         std::vector<BlockPlace>* inner) {
  const Block& block = At(graph, place);
  std::deque<ValueId> todo(block.nodes.begin(), block.nodes.end());
  std::vector<ValueId> nodes;
  while (!todo.empty()) {
    const ValueId v = todo.front();
    todo.pop_front();
    for (size_t i = 0; i < graph->node(v).blocks.size(); ++i) {
      const Claim& claim = *graph->node(v).attrs.claim;
      inner->push_back(
          {v, i, std::make_shared<const Side>(SideOf(*graph, place.side.get(), claim, i == 0))});
    }
    if (!IsComposite(graph->node(v))) {
      nodes.push_back(v);
      continue;
    }
    const Node composite = graph->node(v);
    const size_t first_new = graph->num_nodes();
    Block expansion;
    Builder builder(graph, &expansion, place.side.get());
    builder.set_location(composite.location);
    absl::StatusOr<ValueId> result = Expand(builder, composite);
    if (!result.ok()) return result.status();
    // What stands for a named value carries its name in errors.
    if (*result >= first_new && graph->node(*result).name.empty())
      graph->node(*result).name = composite.name;
    replacement->resize(graph->num_nodes(), kNoValue);
    (*replacement)[v] = *result;
    todo.insert(todo.begin(), expansion.nodes.begin(), expansion.nodes.end());
  }
  At(graph, place).nodes = std::move(nodes);
  return absl::OkStatus();
}

// Each expansion makes the row numbers that it needs; of those for one ragged dim the first in the
// body serves all that come later, nested blocks included. The depth is that of the blocks.
void ShareSegmentIds(Graph* graph, Block& block, bool is_body,
                     absl::flat_hash_map<ValueId, ValueId>* first,  // by the offsets, an input
                     std::vector<ValueId>* replacement) {
  std::erase_if(block.nodes, [&](ValueId v) {
    Node& n = graph->node(v);
    for (Block& inner : n.blocks) ShareSegmentIds(graph, inner, false, first, replacement);
    if (n.op != Op::k_segment_ids) return false;
    if (const auto it = first->find(n.operands[0]); it != first->end()) {
      (*replacement)[v] = it->second;
      return true;
    }
    if (is_body) first->emplace(n.operands[0], v);
    return false;
  });
}

}  // namespace

bool HasComposites(const Graph& graph) {
  for (ValueId v = 0; v < graph.num_nodes(); ++v) {
    if (IsComposite(graph.node(v))) return true;
  }
  return false;
}

absl::Status ExpandComposites(Graph* graph) {
  std::vector<ValueId> replacement(graph->num_nodes(), kNoValue);
  std::vector<BlockPlace> blocks = {BlockPlace{}};
  while (!blocks.empty()) {
    const BlockPlace place = blocks.back();
    blocks.pop_back();
    absl::Status expanded = ExpandBlock(graph, place, &replacement, &blocks);
    if (!expanded.ok()) return expanded;
  }
  replacement.resize(graph->num_nodes(), kNoValue);
  absl::flat_hash_map<ValueId, ValueId> first_ids;
  ShareSegmentIds(graph, graph->body, /*is_body=*/true, &first_ids, &replacement);
  // An expansion may end in a composite, whose own replacement has a larger id, or in an operand,
  // whose replacement has a smaller one: follow until a value that stays.
  std::vector<ValueId> final_of(graph->num_nodes());
  std::iota(final_of.begin(), final_of.end(), ValueId{0});
  for (ValueId v = 0; v < replacement.size(); ++v) {
    ValueId end = v;
    while (replacement[end] != kNoValue) end = replacement[end];
    for (ValueId at = v; replacement[at] != kNoValue;) {  // later walks take one step
      const ValueId next = replacement[at];
      replacement[at] = end;
      at = next;
    }
    final_of[v] = end;
  }
  graph->ReplaceUses(final_of);
  return absl::OkStatus();
}

}  // namespace lathe::ir
