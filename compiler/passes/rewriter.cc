#include "compiler/passes/rewriter.h"

#include <numeric>
#include <utility>

namespace lathe::compiler {

using ir::Attrs;
using ir::Block;
using ir::Node;
using ir::Op;
using ir::ValueId;

void Rewriter::Run(absl::FunctionRef<void(ValueId)> visit) {
  visit_ = &visit;
  replacement_.resize(graph_.num_nodes());
  std::iota(replacement_.begin(), replacement_.end(), 0);
  VisitBlock(graph_.body);
  visit_ = nullptr;
}

// Blocks nest to a bounded depth (ir::kMaxBlockDepth).
void Rewriter::VisitBlock(Block& block) {
  const std::vector<ValueId> nodes = std::exchange(block.nodes, {});
  std::vector<ValueId>* const outer = std::exchange(out_, &block.nodes);
  VisitNodes(nodes);
  out_ = outer;
  for (ValueId& v : block.results) v = Resolve(v);
}

void Rewriter::VisitNodes(const std::vector<ValueId>& nodes) {
  for (ValueId v : nodes) VisitNode(v);
}

void Rewriter::VisitNode(ValueId v) {
  for (ValueId& operand : graph_.node(v).operands) operand = Resolve(operand);
  replaced_ = false;
  (*visit_)(v);
  if (std::exchange(replaced_, false)) return;
  // Taken out meanwhile, since inserting nodes moves them.
  std::vector<Block> blocks = std::move(graph_.node(v).blocks);
  for (Block& block : blocks) VisitBlock(block);
  graph_.node(v).blocks = std::move(blocks);
  out_->push_back(v);
}

ValueId Rewriter::Insert(Op op, std::vector<ValueId> operands, Attrs attrs, ir::ValueType type,
                         ValueId like) {
  Node n{.op = op, .operands = std::move(operands), .attrs = std::move(attrs)};
  n.type = std::move(type);
  n.location = graph_.node(like).location;
  const ValueId v = graph_.AppendNode(std::move(n));
  out_->push_back(v);
  return v;
}

void Rewriter::Become(ValueId v, Op op, std::vector<ValueId> operands, Attrs attrs) {
  Node& n = graph_.node(v);
  n.op = op;
  n.operands = std::move(operands);
  n.attrs = std::move(attrs);
}

void Rewriter::Replace(ValueId v, ValueId with) {
  replacement_[v] = with;
  replaced_ = true;
  Node& kept = graph_.node(with);
  if (kept.name.empty() && kept.op != Op::k_input) kept.name = graph_.node(v).name;
}

void Rewriter::Inline(ValueId v, size_t side) {
  const Block block = std::move(graph_.node(v).blocks[side]);
  VisitNodes(block.nodes);
  Replace(v, Resolve(block.results[0]));
}

}  // namespace lathe::compiler
