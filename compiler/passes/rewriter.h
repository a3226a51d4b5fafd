#pragma once
// Walks a graph in execution order and rebuilds its blocks: what passes that replace nodes share.
//
//   Rewriter rewriter(graph);
//   rewriter.Run([&](ValueId v) {
//     if (IsPointless(v)) rewriter.Replace(v, graph.node(v).operands[0]);
//   });
#include <vector>

#include "absl/functional/function_ref.h"
#include "ir/graph.h"

namespace lathe::compiler {

class Rewriter {
 public:
  explicit Rewriter(ir::Graph& graph) : graph_(graph) {}

  // Calls `visit` for each node, its operands already replaced; then for the nodes of its blocks,
  // if it is an `if` that was kept. `visit` may edit the node (not its type), or use what follows.
  void Run(absl::FunctionRef<void(ir::ValueId)> visit);

  // A new node before the one visited, with the location of `like`. References to nodes are invalid
  // afterwards.
  ir::ValueId Insert(ir::Op op, std::vector<ir::ValueId> operands, ir::Attrs attrs,
                     ir::ValueType type, ir::ValueId like);
  // The visited node is computed by another op, in place. The type stays.
  void Become(ir::ValueId v, ir::Op op, std::vector<ir::ValueId> operands, ir::Attrs attrs = {});
  // `with` takes the place of the visited node, which goes.
  void Replace(ir::ValueId v, ir::ValueId with);
  // The visited `if` becomes the nodes of one of its blocks, which are visited in turn.
  void Inline(ir::ValueId v, size_t side);
  ir::ValueId Resolve(ir::ValueId v) const { return v < replacement_.size() ? replacement_[v] : v; }

 private:
  void VisitBlock(ir::Block& block);
  void VisitNodes(const std::vector<ir::ValueId>& nodes);
  void VisitNode(ir::ValueId v);

  ir::Graph& graph_;
  absl::FunctionRef<void(ir::ValueId)>* visit_ = nullptr;
  std::vector<ir::ValueId>* out_ = nullptr;  // nodes of the block under construction
  std::vector<ir::ValueId> replacement_;     // of the nodes that existed before
  bool replaced_ = false;                    // the visited node goes
};

}  // namespace lathe::compiler
