#include "compiler/passes/requirements.h"

#include "ir/builder.h"
#include "ir/shape_rules.h"

namespace lathe::compiler {
namespace {

class Restater {
 public:
  Restater(ir::Graph& graph, absl::FunctionRef<bool(ir::ValueId)> concerned)
      : graph_(graph), concerned_(concerned) {}

  // Blocks nest to a bounded depth.
  void Visit(const ir::Block& block, const ir::Side* side) {
    for (ir::ValueId v : block.nodes) {
      ir::Node& n = graph_.node(v);
      if (concerned_(v)) Restate(n, side);
      for (size_t i = 0; i < n.blocks.size(); ++i) {
        const ir::Side inner = ir::SideOf(graph_, side, *n.attrs.claim, i == 0);
        Visit(n.blocks[i], &inner);
      }
    }
  }

 private:
  // A claim that can't be added is left to the verifier.
  void Restate(ir::Node& n, const ir::Side* side) {
    ir::InferContext c{.graph = &graph_, .node = &n, .side = side};
    if (ir::Info(n.op).require != nullptr) ir::Info(n.op).require(c).IgnoreError();
    for (Dim d : n.type.shape) {
      if (side != nullptr) ir::RequireDivisors(c, d).IgnoreError();
      if (d.is_constant() || graph_.facts().Range(d).min >= 0) continue;
      c.Require(d >= 0, "an extent may not be negative").IgnoreError();
    }
  }

  ir::Graph& graph_;
  absl::FunctionRef<bool(ir::ValueId)> concerned_;
};

}  // namespace

void RestateRequirements(ir::Graph& graph, absl::FunctionRef<bool(ir::ValueId)> concerned) {
  Restater(graph, concerned).Visit(graph.body, nullptr);
}

}  // namespace lathe::compiler
