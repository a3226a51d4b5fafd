// Of nodes that compute the same from the same operands, the first is kept. Ops that may fail on
// data fail alike, and `random` with one seed gives one result, so both take part.
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/structure.h"

namespace lathe::compiler {
namespace {

using ir::Block;
using ir::ValueId;

class Eliminator {
 public:
  explicit Eliminator(ir::Graph& graph) : graph_(graph), replacement_(graph.num_nodes()) {
    for (ValueId v = 0; v < replacement_.size(); ++v) replacement_[v] = v;
  }

  // What a block computed is no longer known after it; blocks nest to a bounded depth.
  void Visit(Block& block) {
    std::vector<std::pair<size_t, ValueId>> added;
    std::erase_if(block.nodes, [&](ValueId v) {
      ir::Node& n = graph_.node(v);
      for (ValueId& operand : n.operands) operand = replacement_[operand];
      for (Block& inner : n.blocks) Visit(inner);
      const size_t hash = HashValue(n);
      std::vector<ValueId>& known = known_[hash];
      for (ValueId other : known) {
        if (!SameValue(graph_.node(other), n)) continue;
        replacement_[v] = other;
        if (graph_.node(other).name.empty()) graph_.node(other).name = n.name;
        ++removed_;
        return true;
      }
      known.push_back(v);
      added.emplace_back(hash, v);
      return false;
    });
    for (ValueId& v : block.results) v = replacement_[v];
    if (&block == &graph_.body) return;
    for (size_t i = added.size(); i-- > 0;) known_[added[i].first].pop_back();
  }
  int removed() const { return removed_; }

 private:
  ir::Graph& graph_;
  std::vector<ValueId> replacement_;
  absl::flat_hash_map<size_t, std::vector<ValueId>> known_;  // by hash
  int removed_ = 0;
};

}  // namespace

absl::Status EliminateCommon(ir::Graph& graph, PassContext& context) {
  Eliminator eliminator(graph);
  eliminator.Visit(graph.body);
  context.Count("common nodes", eliminator.removed());
  return absl::OkStatus();
}

}  // namespace lathe::compiler
