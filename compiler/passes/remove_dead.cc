// What no output needs goes, and the memory that it held. Nodes that may fail on data stay.
#include "compiler/passes/pass.h"

namespace lathe::compiler {
namespace {

// Marks the nodes of a block and of those inside it (nested to a bounded depth).
int Mark(const ir::Graph& graph, const ir::Block& block, std::vector<bool>& placed) {
  int count = 0;
  for (ir::ValueId v : block.nodes) {
    placed[v] = true;
    ++count;
    for (const ir::Block& inner : graph.node(v).blocks) count += Mark(graph, inner, placed);
  }
  return count;
}

}  // namespace

absl::Status RemoveDead(ir::Graph& graph, PassContext& context) {
  std::vector<bool> before(graph.num_nodes()), after(graph.num_nodes());
  const int count_before = Mark(graph, graph.body, before);
  graph.RemoveDeadNodes();
  context.Count("dead nodes", count_before - Mark(graph, graph.body, after));
  for (ir::ValueId v = 0; v < graph.num_nodes(); ++v) {
    if (after[v]) continue;
    ir::Node& n = graph.node(v);
    n.attrs = {};
    n.operands.clear();
    n.blocks.clear();
  }
  return absl::OkStatus();
}

}  // namespace lathe::compiler
